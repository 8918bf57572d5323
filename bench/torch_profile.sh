#!/bin/sh
# torch_profile.sh [MACHINE] - PyTorch's step on this device, what hypar.torch.profile() measures of it, and what is simulated with
# that: resnet50 and gpt2. Needs torch, torchvision and transformers; HYPAR_TORCH names their environment. MACHINE is one device,
# as full:1,device=h200, if PyTorch's name for it is none of 'hypar machines'. Times of one run; weights are random.
cd "$(dirname "$0")/.." || exit 2
HYPAR=${HYPAR:-$PWD/build/hypar}
export HYPAR KINETO_LOG_LEVEL=99 PYTHONPATH="$PWD/python"
exec "${HYPAR_TORCH:+$HYPAR_TORCH/bin/}python3" bench/torch_profile.py "$@"
