#!/bin/sh
# kill-ranks.sh N [SEED] - kill a random rank of a training run at a random moment, N times. Each
# time: all processes are gone within 10 s, one line says why, nothing unfinished is left, the last
# checkpoint is whole, and going on from it ends where the undisturbed run did, bit by bit.
. "$(dirname "$0")/../tests/mpi/common.sh"
command -v pgrep >/dev/null || { echo "skipped: no pgrep"; exit 77; }
n=${1:?usage: kill-ranks.sh N [SEED]} seed=${2:-$$} steps=40
echo "kill-ranks: $n times, seed $seed"
mkdir "$dir/run"

run="lenet5 --kernels reference --precision fp64 --batch 7 --optimizer adam --planner hypar --ranks 3
    --steps $steps --every 3"

now() {
    date +%s.%N
}

# When and which rank, for each kill.
awk -v seed="$seed" -v n="$n" 'BEGIN { srand(seed); for (; n > 0; n--) print rand(), 1 + int(3 * rand()) }' >"$dir/random"

start=$(now)
hypar train $run --checkpoint "$dir/whole" >"$dir/whole.out" || exit 1
length=$(awk -v a="$start" -v b="$(now)" 'BEGIN { print b - a }')

is_running() { # PID: a zombie is not
    kill -0 "$1" 2>/dev/null && ! grep -q '^State:[[:space:]]*Z' "/proc/$1/status" 2>/dev/null
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

kill_one() { # NUMBER SHARE-OF-THE-RUN RANK
    rm -f "$dir/run"/*
    hypar train $run --checkpoint "$dir/run/c" >"$dir/out" 2>"$dir/err" &
    launcher=$!
    sleep "$(awk -v share="$2" -v length_s="$length" 'BEGIN { print share * length_s }')"
    mpirun=$(pgrep -P $launcher)
    ranks=$([ -z "$mpirun" ] || pgrep -P "$mpirun")
    victim=$(echo "$ranks" | sed -n "$3p")
    killed=no
    [ -n "$victim" ] && kill -KILL "$victim" 2>/dev/null && killed=yes
    left=$(await_end $launcher $mpirun $ranks)
    [ -z "$left" ] || wrong "kill $1: still there after 10 s:$left"
    wait $launcher
    rc=$?
    case $killed-$rc in
    yes-4) [ "$(cat "$dir/err")" = 'hypar: a rank died: Killed' ] || wrong "kill $1: $(cat "$dir/err")" ;;
    *-0) finished=$((finished + 1)) ;; # too late
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

finished=0 without=0 i=0
while read -r share rank; do
    i=$((i + 1))
    kill_one $i "$share" "$rank" </dev/null
    go_on $i </dev/null
done <"$dir/random"
echo "$n kills: $without before the first checkpoint, $finished after the end"
exit $fail
