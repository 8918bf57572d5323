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

# What differs adds up to what the step differs by, and phases to the step; of ranks in one process
# nothing is told of waiting.
check_sums() { # JSON WHAT
    awk -v what="$2" '
        function number(key) { return match($0, "\"" key "\": [-0-9.e+]*") ? substr($0, RSTART + length(key) + 4, RLENGTH - length(key) - 4) + 0 : 0 }
        /"in_process": true/ { exit }
        /^  "[a-z_]*_s": / { step["predicted_s"] += number("predicted_s"); step["measured_s"] += number("measured_s") }
        /^  "[a-z]*": \[/ { list = $1 }
        /^    {/ { sum[list, "predicted_s"] += number("predicted_s"); sum[list, "measured_s"] += number("measured_s") }
        END {
            for (key in step)
                for (i = 0; i < 2; i++) {
                    list = i ? "\"differences\":" : "\"phases\":"
                    d = sum[list, key] - step[key]
                    if (d < -0.02 * step[key] || d > 0.02 * step[key]) {
                        print "wrong: " what ": " list " add up to " sum[list, key] " of " step[key] " " key
                        bad = 1
                    }
                }
            exit bad
        }' "$1" || fail=1
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
        hypar compare --measured "$dir/trace" "$dir/plan" --json --trace "$dir/both" >"$dir/out" ||
            wrong "compare --measured $how: $*"
        bars "$dir/both" 4 5 | cmp - "$dir/measured" || wrong "$* $how: another measured timeline"
        check_sums "$dir/out" "$* $how"
    done
}
try 3 lenet5 --on local:2 --batch 8 --planner dp
try 3 lenet5 --on local:3 --batch 9 --planner hypar
try 3 lenet5 --on local:2 --batch 8 --planner gpipe --micro-batches 3
try 1 lenet5 --on local:2 --batch 8 --planner pipedream # one window
exit $fail
