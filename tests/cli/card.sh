#!/bin/sh
# card.sh - training on a card (the stand-in of tests/cuda): the losses are those of the processor, and what fails is told
# in one line.
HYPAR_CUDA_PATH=$BUILD/tests/cuda && export HYPAR_CUDA_PATH
[ -e "$HYPAR_CUDA_PATH/libcuda.so.1" ] || exit 77
XDG_CACHE_HOME=$HYPAR_CUDA_PATH && export XDG_CACHE_HOME # compiled kernels
dir=$(mktemp -d) && trap 'rm -rf "$dir"' EXIT
fail=0
losses() { # OPTIONS...: step and loss
    hypar train mlp:6-5-4 --batch 4 --planner dp "$@" 2>"$dir/err" | sed -n 's/^ *\([0-9]*\/[0-9]* *[0-9.]*\).*/\1/p'
}
same() { # what both do; then options of the run on the card
    name=$1 both=$2
    shift 2
    losses $both --kernels reference >"$dir/cpu"
    losses $both --device cuda "$@" >"$dir/card"
    if ! [ -s "$dir/cpu" ] || ! cmp -s "$dir/cpu" "$dir/card"; then
        echo "wrong: $name"
        diff "$dir/cpu" "$dir/card"
        cat "$dir/err"
        fail=1
    fi
}
same 'one rank' '--steps 3 --optimizer adamw --clip 1'
same 'two ranks that share the card' '--steps 2 --ranks 2 --in-process'
if hypar --version | grep -q '^mpi: yes'; then same 'two processes' '--steps 2 --ranks 2'; fi
same 'products in tf32, which the stand-in does not round' '--steps 2' --precision tf32
losses --steps 4 --kernels reference >"$dir/cpu"
losses --steps 2 --device cuda --checkpoint "$dir/half" >"$dir/card"
losses --steps 4 --device cuda --resume "$dir/half" >>"$dir/card"
sed -i 's|/[24] |/N |' "$dir/cpu" "$dir/card"
cmp "$dir/cpu" "$dir/card" || fail=1

# The prediction is for the card if its name is that of a device, else for the processor.
told() { # TEXT: in notes
    hypar train mlp:6-5-4 --batch 4 --steps 2 --device cuda 2>&1 >"$dir/out" | tr -s '\n ' ' ' | grep -q "$1"
}
told 'the prediction is for the processor' || { echo 'wrong: no note about the processor' && fail=1; }
! HYPAR_STAND_IN_NAME='NVIDIA H200' told 'the prediction is' || { echo 'wrong: a note about an H200' && fail=1; }
grep -q 'step, mean' "$dir/out" || fail=1

refused() { # EXIT-CODE TEXT OPTIONS...
    want=$1 text=$2
    shift 2
    hypar train mlp:6-5-4 --batch 4 --steps 1 --device cuda "$@" >"$dir/out" 2>"$dir/err"
    rc=$?
    if [ $rc != "$want" ] || [ "$(wc -l <"$dir/err")" != 1 ] || ! grep -q "$text" "$dir/err"; then
        echo "wrong: exit code $rc, expected $want and '$text':"
        cat "$dir/err"
        fail=1
    fi
}
HYPAR_STAND_IN_CARDS=0 refused 4 "NVIDIA's driver finds no card"
HYPAR_STAND_IN_BYTES=300 refused 4 'card 0 (stand-in): no room for [0-9]* bytes: [0-9]* of 300 are free'
HYPAR_STAND_IN_FAILS=sgd_f32 refused 4 'card 0 (stand-in): a kernel failed'
head -c 64 "$HYPAR_CUDA_PATH/libcuda.so.1" >"$dir/libcuda.so.1"
HYPAR_CUDA_PATH=$dir refused 4 "NVIDIA's driver: .* cut off"
refused 3 'precision fp16 cannot be run' --precision fp16
refused 2 '\-\-kernels is for --device cpu' --kernels fast
exit $fail
