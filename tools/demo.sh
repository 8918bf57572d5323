#!/bin/sh
# What hypar can do, in a minute. `make demo` runs it with the built command first in PATH.
# Of each output the first DEMO_LINES (24) lines are shown.
set -e
dir=$(mktemp -d) && trap 'rm -rf "$dir"' EXIT

show() {
    printf '\n$ hypar %s\n' "$*"
    hypar "$@" >"$dir/shown"
    awk -v most="${DEMO_LINES:-24}" 'NR <= most || most == 0
        END { if (most && NR > most)
                  printf "... %d more lines; DEMO_LINES=0 make demo shows all\n", NR - most }' "$dir/shown"
}

show --version
show models
show machines
show planners
show import lenet5
show machines cluster:4x8,device=h100
if hypar --version | grep -q 'protobuf-c: yes'; then # a model as PyTorch exports it
    show import examples/models/encoder.onnx --batch 64
    show plan examples/models/encoder.onnx --batch 64 --on full:8,device=a100
fi

# HyPar's picture of a network: layers across, levels of the machine down.
show plan vgg-a --on htree:16 --planner hypar

# The best plan by simulated step, within memory.
show plan resnet50 --on cluster:2x8,device=a100 --batch 512

# Planners side by side, where the network between nodes is slow.
show compare alexnet --on cluster:4x4,inter=1.25GB/s --batch 512

# A plan is a file: written, checked, made explicit, simulated, drawn.
cd "$dir"
show plan lenet5 --on full:4 --planner accpar -q -o lenet5.json
show lower lenet5.json
show explore lenet-c --on htree:16 --levels H1,H4
show plan gpt2 --on cluster:1x4,device=a100 --planner 1f1b --stages 4 --micro-batches 8 \
    --precision bf16 --optimizer adam -o plan.json
show check plan.json
show simulate plan.json --trace trace.json
printf '\ntrace.json: %s events; "hypar simulate PLAN --trace FILE" and https://ui.perfetto.dev show them.\n' \
    "$(grep -c '"ph"' trace.json)"
show simulate plan.json --fits
show simulate plan.json --on cluster:4x1,device=a100,inter=12.5GB/s

# The same plan for real: two processes of this machine, predicted beside measured.
show plan lenet5 --on local:2 --batch 64 --planner hypar --optimizer momentum -q -o train.json
if hypar --version | grep -q '^mpi: yes' && command -v mpirun >/dev/null; then
    show train train.json --steps 50
else
    printf '\nWithout MPI both ranks run in one process; Debian: openmpi-bin, libopenmpi-dev.\n'
    show train train.json --steps 50 --in-process
fi
