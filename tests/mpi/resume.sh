#!/bin/sh
# resume.sh - 3 steps and 3 more from their checkpoint are 6 steps: bit by bit under the same plan,
# within 1e-9 in fp64 under another one and on another number of ranks.
. tests/mpi/common.sh
compare=$BUILD/tests/compare_checkpoints

try() { # MODEL OPTIMIZER PLANNER RANKS OTHER-PLANNER OTHER-RANKS
    what="$1, $2: $3 on $4, then $5 on $6"
    train() { # PLANNER RANKS ARGUMENTS...
        planner=$1 ranks=$2
        shift 2
        exact "$model" --batch 6 --optimizer "$optimizer" --planner "$planner" --ranks "$ranks" \
            "$@" 2>"$dir/err" || wrong "$what: $(tail -n 1 "$dir/err")"
    }
    model=$1 optimizer=$2 other=$5 others=$6
    train "$3" "$4" --steps 6 --checkpoint "$dir/whole" >"$dir/whole.out"
    train "$3" "$4" --steps 3 --checkpoint "$dir/half" >/dev/null
    train "$3" "$4" --steps 6 --resume "$dir/half" --checkpoint "$dir/same" >"$dir/same.out"
    train "$other" "$others" --steps 6 --resume "$dir/half" --checkpoint "$dir/other" \
        >"$dir/other.out"
    cmp "$dir/whole" "$dir/same" || wrong "$what: not the same bytes under the same plan"
    losses "$dir/whole.out" | tail -n 3 >"$dir/whole.losses"
    losses "$dir/same.out" | cmp - "$dir/whole.losses" || wrong "$what: not the same losses"
    losses "$dir/other.out" >"$dir/other.losses"
    losses=$(apart "$dir/other.losses" "$dir/whole.losses")
    weights=$("$compare" "$dir/other" "$dir/whole") || wrong "$what: checkpoints"
    above "$losses" 1e-9 && wrong "$what: losses differ by $losses"
    above "${weights%% *}" 1e-9 && wrong "$what: weights differ by $weights"
    echo "$what: losses $losses, weights $weights"
}

try lenet5 momentum dp 2 mp 3
full_length && try mlp:20-16-10 adam mp 3 dp 2
full_length && try examples/models/digits.json momentum dp 3 mp 2
try rnnlm:steps=3,layers=2,hidden=8,vocab=20 adamw hypar 4 1f1b 2
full_length && try gpt:layers=2,hidden=16,heads=2,seq=5,vocab=30 adam 1f1b 2 owt 3
try bert:layers=1,hidden=12,heads=3,ffn=20,seq=6,vocab=30 sgd gpipe 2 flexflow 1
exit $fail
