#!/bin/sh
# schedules.sh - every schedule on several ranks: in one process and over MPI the same losses and
# weights, bit by bit, and those of one rank but for rounding. The command has two schedules more
# (tests/plan/added_schedules.c).
PATH="$BUILD/added_schedules:$PATH"
. tests/mpi/common.sh

model=mlp:12-10-9-8-7-6
train() { # NAME ARGUMENTS...
    name=$1
    shift
    hypar train "$@" --kernels reference --json --steps 3 --checkpoint "$dir/$name" \
        >"$dir/$name.out" 2>"$dir/err" || wrong "$what: $(tail -n 1 "$dir/err")"
    losses "$dir/$name.out" >"$dir/$name.losses"
}

plan() { # STAGES SCHEDULE
    cat <<END
{"format": "hypar-plan/1", "model": "$model", "batch": 9, "machine": "full:4", "precision": "fp64",
 "optimizer": "momentum", "ops": [{"name": "*", "split": {"n": 2}}], "stages": [$1], "schedule": {$2}}
END
}

try() { # WHAT STAGES SCHEDULE
    what=$1
    plan "$2" "$3" >"$dir/plan.json"
    train local "$dir/plan.json" --in-process
    train mpi "$dir/plan.json"
    cmp "$dir/local.losses" "$dir/mpi.losses" || wrong "$what: losses of MPI and of one process"
    cmp "$dir/local" "$dir/mpi" || wrong "$what: checkpoints of MPI and of one process"
    worst=$(apart "$dir/mpi.losses" "$dir/one.losses")
    weights=$("$BUILD/tests/compare_checkpoints" "$dir/mpi" "$dir/one") || wrong "$what: checkpoints"
    echo "$what: losses differ by $worst, weights by ${weights%% *}"
    case $worst in unlike) wrong "$what: no losses" ;; esac
    awk "BEGIN { exit !($worst < 1e-9 && ${weights%% *} < 1e-9) }" || wrong "$what: not those of one rank"
}

stage() { # OPERATORS DEVICES
    printf '{"ops": [%s], "devices": [%s]}' "$1" "$2"
}

what="one rank"
train one $model --batch 9 --optimizer momentum --precision fp64 --in-process
two="$(stage '"fc1", "relu1", "fc2", "relu2"' 0,1), $(stage '"fc3", "relu3", "fc4", "relu4", "fc5", "loss"' 2,3)"
four="$(stage '"fc1", "relu1"' 0,1), $(stage '"fc2", "relu2"' 2,3), $(stage '"fc3", "relu3"' 0,1),
 $(stage '"fc4", "relu4", "fc5", "loss"' 2,3)"
around="$(stage '"fc1", "relu1"' 0,1), $(stage '"fc2", "relu2"' 2,3), $(stage '' 2,3), $(stage '"fc3", "relu3", "fc4", "relu4", "fc5", "loss"' 0,1)"
names=$(hypar plan $model --on full:4 --planner 3d --schedule frob 2>&1 | sed "s/.* is not //; s/ or /, /; s/,//g")
case $names in *gpipe*last-first*) ;; *) wrong "names of schedules: $names" ;; esac
for name in $names; do
    case $name in
    none | pipedream | on-their-own) ;; # a pipeline; other weights than one rank has
    interleaved | zigzag | slots) ;;    # below
    *) try "$name" "$two" '"name": "'$name'", "micro_batches": 5' ;;
    esac
done
try interleaved "$four" '"name": "interleaved", "micro_batches": 4, "chunks": 2'
try zigzag "$around" '"name": "zigzag", "micro_batches": 4, "chunks": 2'
try 'slots, the last micro-batch first' "$two" '"name": "slots", "micro_batches": 2,
 "slots": [["F0.0", "F0.1", "B0.1", "B0.0"], ["F1.0", "F1.1", "B1.1", "B1.0"]]'
try 'slots, there and back' "$around" '"name": "slots", "micro_batches": 2, "slots": [
 ["F0.0", "F0.1", "F3.0", "B3.0", "W3.0", "F3.1", "B3.1", "B0.0", "W0.0", "B0.1", "W3.1", "W0.1"],
 ["F1.0", "F2.0", "F1.1", "F2.1", "B2.0", "B1.0", "B2.1", "W1.0", "B1.1", "W2.0", "W2.1", "W1.1"]]'
exit $fail
