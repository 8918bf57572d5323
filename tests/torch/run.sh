#!/bin/sh
# run.sh SCRIPT - hypar against PyTorch: HYPAR_TORCH is a Python environment that has it.
if [ ! -x "$HYPAR_TORCH/bin/python" ]; then
    echo "skipped: HYPAR_TORCH='$HYPAR_TORCH' is no Python environment with torch and numpy"
    exit 77
fi
exec "$HYPAR_TORCH/bin/python" "tests/torch/$1" --hypar "$BUILD/hypar"
