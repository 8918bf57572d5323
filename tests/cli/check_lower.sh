#!/bin/sh
# check_lower.sh [SEED] - 'hypar check' says ok to what 'hypar lower' takes, and else what it says,
# with the same exit code: plans of every kind that is refused, and random ones.
seed=${1:-1}
dir=$(mktemp -d) && trap 'rm -rf "$dir"' EXIT
fail=0 refused=0 taken=0
same() { # MODEL MACHINE OPS [MORE]: of a plan
    echo "{\"format\": \"hypar-plan/1\", \"model\": \"$1\", \"batch\": 8, \"machine\": \"$2\"," \
        "\"ops\": [$3]${4:+, $4}}" >"$dir/plan"
    hypar lower "$dir/plan" >/dev/null 2>"$dir/lower"
    want=$?
    hypar check "$dir/plan" --memory 1000TB >/dev/null 2>"$dir/check"
    rc=$?
    if [ $want = 0 ]; then taken=$((taken + 1)); else refused=$((refused + 1)); fi
    [ $rc = $want ] && cmp -s "$dir/lower" "$dir/check" && return
    fail=1
    echo "wrong: exit code $rc, expected $want:"
    cat "$dir/plan" "$dir/lower" "$dir/check"
}

resnet=resnet18:image=32,classes=10
by_h='{"name": "*", "split": {"h": 2}}'
same $resnet full:2 "$by_h"
same $resnet full:2 "$by_h" '"simulation": {"local_bn": true}'
same mlp:8-6-4 full:2 '{"name": "*", "split": {"n": 2}, "recompute": true}'
same mlp:8-6-4 full:2 '{"name": "*", "split": {"n": 2}, "shard_state": true}'
stages='"stages": [{"devices": [0, 1], "from": "fc1", "to": "loss"}]'
same mlp:8-6-4 full:2 '{"name": "*", "split": {"n": 2}}' \
    "$stages, \"schedule\": {\"name\": \"pipedream\", \"micro_batches\": 2}"
same $resnet full:2 '{"name": "*", "split": {"n": 2}}' \
    '"schedule": {"name": "none", "micro_batches": 2}'
[ $refused -ge 3 ] || { echo "wrong: only $refused of the plans were refused"; fail=1; }

# Random splits of everything, under random settings.
for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24; do
    # shellcheck disable=SC2046
    set -- $(awk -v seed=$((seed * 1000 + i)) 'BEGIN {
        srand(seed)
        split("mlp:8-6-4 lenet5 '$resnet' gpt:layers=1,hidden=8,heads=2,seq=4,vocab=16", model)
        split("n k h w c t", axis)
        print model[1 + int(4 * rand())], axis[1 + int(6 * rand())], axis[1 + int(6 * rand())], \
            1 + int(3 * rand()), rand() < 0.5 ? "true" : "false", rand() < 0.2 ? "true" : "false"
    }')
    same "$1" full:4 "{\"name\": \"*\", \"split\": {\"$2\": 2, \"$3\": 2}, \"recompute\": $6}" \
        "\"simulation\": {\"local_bn\": $5}, \"schedule\": {\"name\": \"none\", \"micro_batches\": $4}"
done
echo "$taken taken, $refused refused (seed $seed)"
[ $taken -gt 4 ] || { echo "wrong: too few were taken"; fail=1; }
exit $fail
