#!/bin/sh
# train.sh HYPAR [THREADS...] - samples per second of `hypar train` beside PyTorch's on this CPU, fp32, SGD, by turns.
# PYTHON names a Python that has torch (python3); SECONDS_EACH how long each is measured (20).
hypar=$1 python=${PYTHON:-python3} seconds=${SECONDS_EACH:-20}
shift
folder=$(dirname "$0")
"$python" -c 'import torch' 2>/dev/null || { echo "train: $python has no torch: skipped"; exit 0; }
printf '%-10s %5s %7s %12s %12s %7s\n' model batch threads hypar/s torch/s ratio
ours() { # MODEL BATCH THREADS: as many steps as take about that long
    steps=2
    step_s=$("$hypar" train "$1" --planner dp --batch "$2" --threads "$3" --steps 2 --json -q | tail -n 1 |
        sed 's/.*"last_loss": [^,]*, "step_s": \([^,]*\).*/\1/')
    steps=$(awk -v s="$step_s" -v all="$seconds" 'BEGIN { n = int(all / s); print n < 2 ? 2 : n }')
    "$hypar" train "$1" --planner dp --batch "$2" --threads "$3" --steps "$steps" --json -q | tail -n 1 |
        sed 's/.*"last_loss": [^,]*, "step_s": \([^,]*\).*/\1/' | awk -v n="$2" '{ print n / $1 }'
}
for threads in "${@:-1}"; do
    for row in 'resnet50 16' 'vgg16 8' 'bert-base:seq=128 8' 'gpt2:seq=256 4'; do
        set -- $row
        mine=$(ours "$1" "$2" "$threads")
        theirs=$("$python" "$folder/train_torch.py" "${1%%:*}" "$2" "$threads" "$seconds")
        awk -v m="${1%%:*}" -v b="$2" -v t="$threads" -v x="$mine" -v y="$theirs" \
            'BEGIN { printf "%-10s %5d %7d %12.3f %12.3f %7.2f\n", m, b, t, x, y, x / y }'
    done
done
