#!/bin/sh
# cuda.sh HYPAR [STEPS] - a training step on this machine's card by `hypar train --device cuda` and by PyTorch eager
# (PYTHON, with transformers and torchvision), in turns: the medians of the steps but the first. In bf16 PyTorch at its best, too.
hypar=${1:?cuda.sh HYPAR [STEPS]} steps=${2:-20} python=${PYTHON:-python3}
here=$(dirname "$0")
ours() { # NETWORK BATCH PRECISION OPTIMIZER
    "$hypar" train "$1" --batch "$2" --precision "$3" --optimizer "$4" --device cuda --steps "$steps" 2>&1 |
        sed -n 's/.*a step takes \(.*\), the median/\1/p; s/^memory of the fullest rank *[^ ]* [^ ]* *\([^ ]* [^ ]*\) .*/\1/p; /^hypar: [^n]/p' |
        tr '\n' ' '
}
for row in 'gpt2 8 adamw' 'resnet50 64 sgd'; do
    set -- $row
    for precision in fp32 tf32 bf16; do
        echo "$1, batch $2, $precision, hypar: $(ours "$1" "$2" $precision "$3")"
        echo "$1, batch $2, $precision, PyTorch eager: $("$python" "$here/cuda_torch.py" "$1" "$2" $precision "$steps" 2>/dev/null)"
    done
    for mode in eager default reduce-overhead; do
        echo "$1, batch $2, bf16, PyTorch tuned, $mode: $("$python" "$here/cuda_torch.py" "$1" "$2" bf16 "$steps" $mode 2>/dev/null)"
    done
done
