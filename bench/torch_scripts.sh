#!/bin/sh
# torch_scripts.sh [CASE...] - networks and plans in bf16 (tests/torch/exported.py): each is planned, exported, and trained for
# five steps on 2 to 8 processes of this machine, which talk by gloo. One table: what a step sends, saves and has at most, by what the
# plan says, and how far losses are from those of one process. HYPAR_TORCH names the environment; some minutes.
cd "$(dirname "$0")/.." || exit 2
exec "${HYPAR_TORCH:+$HYPAR_TORCH/bin/}python3" tests/torch/parallel.py --hypar "${HYPAR:-$PWD/build/hypar}" --scripts "$@"
