#!/bin/sh
# fast.sh - fast kernels in fp32 on several ranks: the first loss is that of one rank within 1e-4,
# those of 20 steps within 1e-3 (batch norm makes more of rounding: the first alone), and as many
# bytes are sent as were predicted.
. tests/mpi/common.sh

train() { # ARGUMENTS...
    hypar train --kernels fast --optimizer momentum --json --steps $steps "$@"
}

try() { # MODEL BATCH PLANNER RANKS
    model=$1
    set -- "$1" --batch "$2" --planner "$3" --ranks "$4"
    if ! train "$@" >"$dir/out" 2>"$dir/err"; then
        wrong "$*: $(tail -n 1 "$dir/err")"
        return
    fi
    sent=$(figure comm_bytes_per_step "$dir/out")
    tail -n 1 "$dir/out" | grep -q "\"predicted\": {[^}]*\"comm_bytes\": $sent[,}]" ||
        wrong "$*: sent $sent: $(tail -n 1 "$dir/out")"
    case " $* " in *' pipedream '*) return ;; esac
    losses "$dir/out" >"$dir/losses"
    head -n 1 "$dir/losses" >"$dir/first"
    head -n 1 "$dir/one.losses" >"$dir/one.first"
    first=$(apart "$dir/first" "$dir/one.first")
    all=$(apart "$dir/losses" "$dir/one.losses")
    above "$first" 1e-4 && wrong "$*: the first loss differs by $first"
    case $model in resnet*) all=$first ;; esac
    above "$all" 1e-3 && wrong "$*: losses differ by $all"
    printf '%-9s %-9s %d ranks: %s\n' "${model%%:*}" "$5" "$7" "$all"
}

# Each network with three planners, at full length with two, in the short form with one, each planner with some network;
# 2, 3 and 4 ranks.
n=0
while read -r model batch cases; do
    case $model in resnet*) steps=2 ;; *) steps=20 ;; esac
    train "$model" --batch "$batch" </dev/null >"$dir/one.out" || wrong "$model: one rank"
    losses "$dir/one.out" >"$dir/one.losses"
    for case in $cases; do
        n=$((n + 1))
        soak_length || { full_length && [ $((n % 3)) = 2 ]; } || [ $((n % 3)) = 1 ] || continue
        try "$model" "$batch" "${case%:*}" "${case#*:}" </dev/null
    done
done <<'CASES'
lenet5 11 dp:2 owt:3 1f1b:4 pipedream:2
mlp:64-48-10 11 mp:3 accpar:4 gpipe:2 pipedream:4
rnnlm:steps=3,layers=2,hidden=8,vocab=20 7 hypar:4 optcnn:2 flexflow:3
nmt:steps=2,layers=1,hidden=8,vocab=20 7 flexflow:2 dp:3 accpar:2
bert:layers=1,hidden=12,heads=3,ffn=20,seq=6,vocab=30 7 mp:2 hypar:3 gpipe:4
gpt:layers=2,hidden=16,heads=2,seq=5,vocab=30 7 owt:2 1f1b:3 optcnn:4
llama:layers=1,hidden=16,heads=4,kv_heads=2,ffn=24,seq=6,vocab=30 7 accpar:3 flexflow:4 pipedream:3
vit-b-16:layers=2,hidden=16,heads=2,ffn=32,image=8,patch=4,classes=5 7 dp:4 hypar:2 mp:3
cifar-c 3 optcnn:3 gpipe:2 owt:3
resnet18:image=32,classes=10 4 dp:2 accpar:3 optcnn:4
CASES
exit $fail
