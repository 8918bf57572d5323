#!/bin/sh
# soak.sh HYPAR [CHANGES] - delta against full simulation at length: CHANGES (10,000) random changes of one operator
# of each network on 4 and 16 devices, with collectives as one task and message by message, and a tenth as many on 64.
# They are done in ten walks with seeds of their own; a dot is one walk.
hypar=$1 changes=${2:-10000} fail=0 row=0
work=$(mktemp -d) || exit 4
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT TERM

walk() { # SEED CHANGES [OPTION]: one line of JSON, or what went wrong
    seed=$1 n=$2
    shift 2
    "$hypar" simulate "$work/plan.json" --check-delta "$n" --seed "$seed" --json "$@" >"$work/answer" 2>&1 && return
    echo
    echo "soak: failed: simulate --check-delta $n --seed $seed $*"
    cat "$work/answer"
    return 1
}

check() { # MODEL MACHINE CHANGES [OPTION]
    model=$1 machine=$2 n=$((($3 + 9) / 10)) seed=0
    shift 3
    row=$((row + 1))
    printf '%2d/25  %-13s %-12s %6d changes  %-20s ' $row "$model" "$machine" $((10 * n)) "$*"
    "$hypar" plan "$model" --on "$machine" --planner dp --batch 64 --memory 1PB -q -o "$work/plan.json" || exit
    while [ $seed -lt 10 ]; do
        seed=$((seed + 1))
        walk $seed $n "$@" || { fail=1; return; }
        printf .
    done
    echo ' no mismatch'
}

for model in alexnet resnet101 inception-v3 nmt bert-base; do
    for machine in cluster:1x4 cluster:4x4; do
        check $model $machine "$changes"
        check $model $machine "$changes" --expand-collectives
    done
    check $model cluster:16x4 $((changes / 10))
done
exit $fail
