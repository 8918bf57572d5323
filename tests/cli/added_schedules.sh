#!/bin/sh
# added_schedules.sh - a schedule is its row: a command whose table has a few rows more
# (tests/plan/added_schedules.c) plans, simulates, trains, explains, reports and exports them, and no
# other file knows them.
PATH="$BUILD/added_schedules:$PATH"
dir=$(mktemp -d) && trap 'rm -rf "$dir"' EXIT
trap 'exit 1' HUP INT TERM
fail=0

wrong() { # TEXT...
    echo "wrong: $*"
    fail=1
}

run() { # NAME ARGUMENTS...: its output in $dir/NAME
    out=$1
    shift
    hypar "$@" >"$dir/$out" 2>"$dir/err" || wrong "hypar $*: $(tail -n 1 "$dir/err")"
}

says() { # NAME TEXT
    grep -q -- "$2" "$dir/$1" || wrong "$1 does not say '$2': $(head -n 3 "$dir/$1")"
}

figure() { # KEY FILE: the first
    sed -n "s/.*\"$1\": \([^,}]*\).*/\1/p" "$dir/$2" | head -n 1
}

losses() { # NAME ARGUMENTS...
    out=$1
    shift
    run "$out" train "$@" --in-process --kernels reference --json --steps 3
    sed -n 's/^{"step": .*"loss": \([^,]*\),.*/\1/p' "$dir/$out" >"$dir/$out.losses"
    test -s "$dir/$out.losses" || wrong "$out: no losses"
}

alike() { # NAME NAME: losses but for rounding
    paste "$dir/$1.losses" "$dir/$2.losses" | awk '{ d = ($1 - $2) / $2; if (d < 0) d = -d; if (!(d < 1e-9)) bad = 1 }
        END { exit bad || NR != 3 }' || wrong "$1: not the losses of $2: $(cat "$dir/$1.losses" "$dir/$2.losses")"
}

# The same layout under another schedule.
under() { # SCHEDULE PLAN OUT
    sed "s/\"schedule\": \"[^\"]*\"/\"schedule\": \"$1\"/" "$dir/$2" >"$dir/$3"
}

model="mlp:12-10-9-8-7-6 --batch 12 --precision fp64 --optimizer momentum"
losses one $model
for name in eager last-first; do
    # Planned, by what chooses stages and by what is told.
    run hybrid plan $model --on full:4 --planner hybrid --schedule $name --stages 2 -o "$dir/hybrid.json"
    run 3d plan gpt:layers=8,hidden=64,heads=4,seq=32,vocab=64 --on full:4 --planner 3d --pipeline 4 --micro-batches 8 --schedule $name -o "$dir/3d.json"
    says 3d "schedule $name"
    run check check "$dir/3d.json"
    for plan in hybrid 3d; do
        says $plan.json "\"schedule\": .*\"$name\""
        run simulated simulate "$dir/$plan.json" --json
        test -n "$(figure step_s simulated)" || wrong "$plan, $name: no step"
    done
    # Simulated: of the same plan eager keeps a micro-batch more than 1f1b, last-first all of them, as gpipe.
    case $name in eager) other=1f1b && way='>' ;; *) other=gpipe && way='==' ;; esac
    under $other 3d.json other.json
    run other simulate "$dir/other.json" --json
    mine=$(figure peak_memory_bytes simulated) its=$(figure peak_memory_bytes other)
    awk "BEGIN { exit !($mine $way $its) }" || wrong "$name needs $mine bytes, $other $its, expected $way"
    # Trained.
    losses $name "$dir/hybrid.json"
    alike $name one
    # Explained and reported.
    run explain explain "$dir/3d.json"
    says explain "schedule 1f1b instead of $name"
    run explain explain "$dir/other.json"
    says explain "schedule $name instead of $other"
    run report report "$dir/3d.json" -o "$dir/report.html"
    says report.html "$name"
    run compare compare "$dir/3d.json" "$dir/other.json"
    # A framework that lacks a schedule says so, and has the nearest.
    hypar export --to torch "$dir/3d.json" -o "$dir/torch.py" 2>"$dir/err" && wrong "$name: exported to PyTorch"
    says err "PyTorch has no schedule '$name'"
done
# With gradients of their own, and with stages that turn back at the last device.
gpt="gpt:layers=8,hidden=64,heads=4,seq=32,vocab=64 --batch 8 --precision fp64"
losses gpt $gpt
for name in late zigzag; do
    run 3d plan $gpt --on full:2 --planner 3d --pipeline 2 --micro-batches 3 --schedule $name -o "$dir/3d.json" \
        $(test $name = zigzag && echo --chunks 2)
    says 3d "schedule $name"
    run simulated simulate "$dir/3d.json" --json
    run explain explain "$dir/3d.json"
    losses $name "$dir/3d.json"
    alike $name gpt
done
says 3d.json '"chunks": 2'
sed 's/"zigzag"/"interleaved"/' "$dir/3d.json" >"$dir/other.json"
hypar check "$dir/other.json" 2>"$dir/err" && wrong "interleaved stages that turn back: accepted"
says err "schedule 'interleaved'"
# Stages that update on their own: pipedream by another name.
run plan plan $model --on full:4 --planner pipedream -o "$dir/pipedream.json"
under on-their-own pipedream.json other.json
run one simulate "$dir/pipedream.json"
run other simulate "$dir/other.json"
sed 's/on-their-own/pipedream/' "$dir/other" | cmp -s - "$dir/one" || wrong "on-their-own: $(diff "$dir/other" "$dir/one")"
hypar plan $model --on full:4 --planner 3d --schedule eagr 2>"$dir/err" && wrong "eagr: planned"
says err "zb-h2, slots, eager, last-first, late, zigzag or on-their-own"
exit $fail
