#!/bin/sh
# recompute.sh - what is computed again is what it was: losses and weights of a plan with
# recomputation are those without it, bit by bit, in one process and over MPI.
. tests/mpi/common.sh

train() { # NAME PLAN ARGUMENTS...
    name=$1 plan=$2
    shift 2
    hypar train "$plan" --kernels reference --json --steps 3 --checkpoint "$dir/$name" "$@" \
        >"$dir/$name.out" 2>"$dir/err" || wrong "$what: $(tail -n 1 "$dir/err")"
    losses "$dir/$name.out" >"$dir/$name.losses"
}

bytes() { # NAME
    hypar lower "$dir/$1.json" --json | sed -n 's/.*"comm_bytes": \([0-9]*\).*/\1/p' | head -n 1
}

try() { # MODEL PLANNER RANKS WORD
    what="$1, $2 on $3, $4"
    hypar plan "$1" --batch 6 --on full:"$3" --planner "$2" --precision fp64 \
        --optimizer momentum -o "$dir/kept.json" >/dev/null || wrong "$what: no plan"
    if [ "$4" = all ]; then
        sed 's/^    {"name": "[^"]*", "kind": "[^"]*",/& "recompute": true,/' "$dir/kept.json" >"$dir/again.json"
    else
        sed 's/"seed": 0,/& "recompute": "'"$4"'",/' "$dir/kept.json" >"$dir/again.json"
    fi
    train kept "$dir/kept.json" --in-process
    train again "$dir/again.json" --in-process
    train mpi "$dir/again.json"
    for name in again mpi; do
        cmp "$dir/kept.losses" "$dir/$name.losses" || wrong "$what: not the losses without it ($name)"
        "$BUILD/tests/compare_checkpoints" "$dir/kept" "$dir/$name" | grep -q '^0 ' || wrong "$what: not the weights without it ($name)"
    done
    echo "$what: $(bytes kept) bytes sent, $(bytes again) with it"
}

try gpt:layers=3,hidden=16,heads=2,seq=5,vocab=30 mp 2 full
try bert:layers=2,hidden=12,heads=3,ffn=20,seq=6,vocab=30 1f1b 2 full
try vit-b-16:layers=2,hidden=16,heads=2,ffn=20,image=32 dp 3 all
try examples/models/digits.json owt 3 all
try rnnlm:steps=3,layers=2,hidden=8,vocab=20 hypar 4 all
exit $fail
