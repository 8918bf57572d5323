#!/bin/sh
# What hypar can do, in a minute. `make demo` runs it with the built command first in PATH.
set -e

show() {
    printf '\n$ hypar %s\n' "$*"
    hypar "$@"
}

show --version
show models
show machines
show planners
show import lenet5
show import resnet18
show machines cluster:4x8,device=h100
if hypar --version | grep -q 'protobuf-c: yes'; then # a model as PyTorch exports it
    show import examples/models/encoder.onnx --batch 64
    show plan examples/models/encoder.onnx --batch 64 --on full:8,device=a100
fi
show plan vgg-a --on htree:16 --planner hypar
show plan resnet50 --on cluster:2x8,device=a100 --batch 512

# A plan is a file: written, checked, made explicit.
dir=$(mktemp -d) && trap 'rm -rf "$dir"' EXIT
cd "$dir"
show plan lenet5 --on full:4 --planner accpar -q -o plan.json
show check plan.json
show lower plan.json
show explore lenet-c --on htree:16 --levels H1,H4
