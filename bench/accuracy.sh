#!/bin/sh
# accuracy.sh HYPAR [EPOCHS [TARGET]] - digits (examples/data) learned under data parallelism and PipeDream: epochs until TARGET
# per cent (95) of the held-out samples are right, the best of EPOCHS (30) epochs, and the last loss on them. Fails if a plan misses it.
# SEED (0) is that of first values and of the samples' order.
hypar=$1 epochs=${2:-30} target=${3:-95} seed=${SEED:-0}
data=$(cd "$(dirname "$0")/../examples" && pwd)
model=$data/models/digits.json batch=32 samples=1500
each=$(((samples + batch - 1) / batch))
TMP=$(mktemp -d) || exit 4
trap 'rm -rf "$TMP"' EXIT
missed=0
plan() { # NAME OPTIONS...: of PipeDream
    name=$1
    shift
    "$hypar" plan "$model" --planner pipedream --seed "$seed" -q -o "$TMP/$name.json" "$@"
}
learn() { # WHAT PLAN OPTIONS...
    what=$1
    shift
    "$hypar" train "$@" --in-process --data "$data/data/digits-train-x.npy,$data/data/digits-train-y.npy" \
        --test-data "$data/data/digits-test-x.npy,$data/data/digits-test-y.npy" --learning-rate 0.05 \
        --steps $((epochs * each)) --test-every "$each" --json >"$TMP/lines" || exit
    awk -v what="$what" -v target="$target" -v each="$each" -F '[:,}]' '
        /test_after/ {
            for (i = 1; i < NF; i++) {
                if ($i ~ /test_after/) after = $(i + 1)
                if ($i ~ /"loss"/) loss = $(i + 1)
                if ($i ~ /accuracy/) share = 100 * $(i + 1)
            }
            if (share > best) best = share
            if (share >= target && !reached) reached = sprintf("%.0f", after / each)
        }
        END {
            printf "%-44s %8s %10.2f %% %10.4f\n", what, reached ? reached : "-", best, loss
            exit !reached
        }' "$TMP/lines" || missed=1
}
plan straight --on full:4 --straight
plan two --on full:2 --straight
plan synced --on full:4 --straight --vertical-sync
plan replicated --on full:4
sed 's/"stash": true/"stash": false/' "$TMP/straight.json" >"$TMP/newest.json"
printf '%-44s %8s %12s %10s\n' plan epochs best loss
learn 'one rank' "$model" --planner dp --seed "$seed"
learn 'data parallel, 4 ranks' "$model" --planner dp --seed "$seed" --ranks 4
learn 'pipedream, 2 stages' "$TMP/two.json"
learn 'pipedream, 4 stages' "$TMP/straight.json"
learn 'pipedream, 4 stages, vertical sync' "$TMP/synced.json"
learn 'pipedream, 4 stages, without stashing' "$TMP/newest.json"
learn 'pipedream, replicated stages (3-1)' "$TMP/replicated.json"
exit $missed
