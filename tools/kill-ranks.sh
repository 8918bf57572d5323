#!/bin/sh
# kill-ranks.sh N [SEED] - kill a random rank of a training run at a random moment, N times: of ten
# kills one while ranks are being started, four after a step, five while a checkpoint is written. Each
# time: all processes are gone within 10 s, one line says why, nothing unfinished is left, the last
# checkpoint is whole, and going on from it ends where the undisturbed run did, bit by bit.
. "$(dirname "$0")/../tests/mpi/common.sh"
command -v pgrep >/dev/null || { echo "skipped: no pgrep"; exit 77; }
n=${1:?usage: kill-ranks.sh N [SEED]} seed=${2:-$$} steps=40
echo "kill-ranks: $n times, seed $seed"
mkdir "$dir/run"

run="lenet5 --kernels reference --precision fp64 --batch 7 --optimizer adam --planner hypar --ranks 3
    --steps $steps --every 3 --json"

# For each kill: when (starting, step or checkpoint), after which step, how many seconds later, which rank.
awk -v seed="$seed" -v n="$n" -v steps=$steps 'BEGIN {
    srand(seed)
    for (i = 0; i < n; i++) {
        when = i % 10 == 9 ? "starting" : i % 2 ? "step" : "checkpoint"
        print when, 1 + int(rand() * (steps - 1)), rand() * (when == "starting" ? 0.4 : 0.01), int(3 * rand())
    }
}' >"$dir/random"

hypar train $run --checkpoint "$dir/whole" >"$dir/whole.out" || exit 1

is_running() { # PID: a zombie is not
    grep -qs '^State:[[:space:]]*[A-Y]' "/proc/$1/status"
}

# Up to 10 s; prints those that are still there.
await_end() { # PID...
    for try in $(seq 100); do
        left=
        for pid in "$@"; do
            is_running "$pid" && left="$left $pid"
        done
        [ -n "$left" ] || return
        sleep 0.1
    done
    echo "$left"
}

# Has rank 0 a file open that is not in its place yet?
is_writing() { # PID
    ls -l "/proc/$1/fd" 2>/dev/null | grep -q "$dir/run/.*\( (deleted)\|part\)$"
}

await_moment() { # WHEN STEP SECONDS: also sets $mpirun and $ranks
    [ "$1" = starting ] || until grep -qs "\"step\": $2," "$dir/out" || ! is_running $launcher; do
        sleep 0.01
    done
    sleep "$3"
    mpirun=$(pgrep -P $launcher)
    ranks=$([ -z "$mpirun" ] || pgrep -P "$mpirun")
    [ "$1" = checkpoint ] && [ -n "$ranks" ] || return
    first=$(rank "$mpirun" 0)
    until is_writing "$first" || ! is_running $launcher; do
        :
    done
    is_running $launcher && written=$((written + 1))
}

kill_one() { # NUMBER WHEN STEP SECONDS RANK
    rm -f "$dir/run"/* "$dir/out"
    hypar train $run --checkpoint "$dir/run/c" >"$dir/out" 2>"$dir/err" &
    launcher=$!
    await_moment "$2" "$3" "$4"
    victim=$([ -z "$mpirun" ] || rank "$mpirun" "$5")
    killed=no
    [ -n "$victim" ] && kill -KILL "$victim" 2>/dev/null && killed=yes
    left=$([ $killed = no ] || await_end $launcher $mpirun $ranks)
    [ -z "$left" ] || wrong "kill $1: still there after 10 s:$left"
    wait $launcher
    rc=$?
    case $killed-$rc in
    yes-4) grep -qx 'hypar: \(rank [0-9]* on [^ ]* died: Killed\|a rank died: Killed\|a rank died, and mpirun did not end\)' "$dir/err" && [ "$(grep -vc '^hypar: note: \|^       ' "$dir/err")" = 1 ] ||
        wrong "kill $1: $(cat "$dir/err")" ;;
    *-0) finished=$((finished + 1)) ;; # too late, or too early
    *) wrong "kill $1: exit code $rc: $(cat "$dir/err")" ;;
    esac
}

go_on() { # NUMBER
    left=$(find "$dir" -name '*.part')
    [ -z "$left" ] || wrong "kill $1: left $left"
    if ! [ -e "$dir/run/c" ]; then
        without=$((without + 1))
        return
    fi
    "$BUILD/tests/compare_checkpoints" "$dir/run/c" "$dir/run/c" >/dev/null ||
        wrong "kill $1: the checkpoint cannot be read"
    # killed after its last checkpoint it has nothing left to do
    [ $rc = 0 ] || cmp -s "$dir/run/c" "$dir/whole" ||
        hypar train $run --resume "$dir/run/c" --checkpoint "$dir/run/c" >"$dir/out" 2>&1 ||
        wrong "kill $1: $(tail -n 1 "$dir/out")"
    cmp "$dir/run/c" "$dir/whole" || wrong "kill $1: another end"
}

finished=0 without=0 written=0 i=0
while read -r when step seconds victim_rank; do
    i=$((i + 1))
    kill_one $i "$when" "$step" "$seconds" "$victim_rank" </dev/null
    go_on $i </dev/null
done <"$dir/random"
echo "$n kills: $written while a checkpoint was written, $without before the first one, $finished too late"
exit $fail
