#!/bin/sh
# trace.sh - what ranks did has the simulator's numbers and names, rows are in order, and looking
# changes nothing.
. tests/mpi/common.sh

bars() { # FILE FIRST-PROCESS LAST-PROCESS: "process row start length task step name"
    sed -n 's/^ *{"name": "\(.*\)", "ph": "X", "ts": \([^,]*\), "pid": \([0-9]*\), "tid": \([0-9]*\), "dur": \([^,]*\), .*"task": \([0-9]*\)\(.*\)$/\3 \4 \2 \5 \6 \7|\1/p' "$1" |
        awk -v lo="$2" -v hi="$3" -F'|' '{ split($1, f, " "); step = 0
            if (match($1, /"step": [0-9]*/)) step = substr($1, RSTART + 8, RLENGTH - 8) }
            f[1] >= lo && f[1] <= hi { print f[1], f[2], f[3], f[4], f[5], step, $2 }'
}

names() { # of bars: "task name", each once; how a collective is done is the simulator's
    cut -d' ' -f5,7- | sed 's/ ([a-z -]*)//' | sort -u
}

# Bars of a row neither overlap nor go back; a bar ends at the nanosecond at which the next may begin.
check_rows() { # BARS WHAT
    awk -v what="$2" '{ row = $1 " " $2 }
        row in end && $3 < end[row] - 0.0005 { print "wrong: " what ": " $0 " begins before " end[row]; bad = 1 }
        $4 < 0 { print "wrong: " what ": " $0; bad = 1 }
        { end[row] = $3 + $4 }
        END { exit bad }' "$1" || fail=1
}

try() { # STEPS ARGUMENTS...
    steps=$1
    shift
    hypar plan "$@" -q -o "$dir/plan" || wrong "$*"
    hypar train "$dir/plan" --kernels reference --steps 4 --json >"$dir/plain" || wrong "train: $*"
    for how in --quiet --in-process; do
        hypar train "$dir/plan" --kernels reference --steps 4 --json $how --trace "$dir/trace" >"$dir/out" ||
            wrong "train --trace $how: $*"
        losses "$dir/plain" >"$dir/a"
        losses "$dir/out" >"$dir/b"
        cmp -s "$dir/a" "$dir/b" || wrong "$*: other losses"
        bars "$dir/trace" 4 5 >"$dir/measured"
        check_rows "$dir/measured" "$* $how"
        n=$(cut -d' ' -f6 "$dir/measured" | sort -u | wc -l)
        [ "$n" = "$steps" ] || wrong "$* $how: $n steps, expected $steps"
        names <"$dir/measured" >"$dir/a"
        bars "$dir/trace" 1 2 | names >"$dir/b"
        [ "$steps" = 1 ] || cmp "$dir/a" "$dir/b" || wrong "$* $how: other names than in the simulation beside it"
        hypar simulate "$dir/plan" --trace - | sed 's/,$//' >"$dir/simulated"
        bars "$dir/simulated" 1 2 | names >"$dir/b"
        [ "$steps" = 1 ] || cmp "$dir/a" "$dir/b" || wrong "$* $how: other names than simulate --trace"
        tail -n 1 "$dir/out" | grep -q '"operators": \[' || wrong "$* $how: no operators"
    done
}
try 3 lenet5 --on local:2 --batch 8 --planner dp
try 3 lenet5 --on local:3 --batch 9 --planner hypar
try 3 lenet5 --on local:2 --batch 8 --planner gpipe --micro-batches 3
try 1 lenet5 --on local:2 --batch 8 --planner pipedream # one window
exit $fail
