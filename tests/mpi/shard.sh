#!/bin/sh
# shard.sh - parameters, gradients and optimizer state that devices divide: over MPI the run is that in
# one process bit by bit, and its losses and weights are those of whole state within 1e-12, and of one
# rank within 1e-9.
. tests/mpi/common.sh
compare=$BUILD/tests/compare_checkpoints

train() { # NAME PLAN ARGUMENTS...
    name=$1 plan=$2
    shift 2
    hypar train "$plan" --kernels reference --json --steps 3 --checkpoint "$dir/$name" "$@" \
        >"$dir/$name.out" 2>"$dir/err" || wrong "$what: $(tail -n 1 "$dir/err")"
    losses "$dir/$name.out" >"$dir/$name.losses"
}

near() { # NAME NAME LIMIT: of losses
    losses=$(apart "$dir/$1.losses" "$dir/$2.losses")
    weights=$("$compare" "$dir/$1" "$dir/$2") || wrong "$what: checkpoints"
    above "$losses" $3 && wrong "$what: losses differ by $losses"
    above "${weights%% *}" 1e-9 && wrong "$what: weights differ by $weights"
    echo "$what: losses $losses, weights $weights"
}

try() { # MODEL RANKS ARGUMENTS...
    model=$1 ranks=$2
    shift 2
    what="$model, one rank"
    train one "$model" --batch 8 --precision fp64 --optimizer adam --in-process
    for shard in none optimizer gradients parameters; do
        what="$model, $ranks ranks, $*, $shard"
        hypar plan "$model" --batch 8 --on full:"$ranks" --precision fp64 --optimizer adam "$@" \
            --shard $shard -q -o "$dir/plan.json" || wrong "$what: no plan"
        train local "$dir/plan.json" --in-process
        train mpi "$dir/plan.json"
        cmp "$dir/local.losses" "$dir/mpi.losses" && cmp "$dir/local" "$dir/mpi" || wrong "$what: MPI is another run"
        case $shard in
        none)
            near local one 1e-9
            mv "$dir/local" "$dir/whole" && mv "$dir/local.losses" "$dir/whole.losses"
            ;;
        *) near local whole 1e-12 ;;
        esac
    done
}

try mlp:20-16-10 3 --planner dp
try gpt:layers=2,hidden=16,heads=2,seq=5,vocab=30 4 --planner 3d --data 2 --pipeline 2 --micro-batches 4 --recompute full
full_length && try gpt:layers=2,hidden=16,heads=2,seq=5,vocab=30 4 --planner 3d --data 2 --pipeline 2 --micro-batches 4 --schedule zb-h1
try gpt:layers=2,hidden=16,heads=2,seq=5,vocab=30 4 --planner 3d --data 2 --tensor 2 --sequence-parallel
try tests/data/head-norms.json 4 --planner 3d --data 2 --tensor 2
exit $fail
