#!/bin/sh
# random.sh [PAIRS] - random graphs and plans of the proof (tests/program/test_proof.c): over MPI they
# train as in one process, within 1e-9 in fp64.
. tests/mpi/common.sh
mkdir "$dir/pairs"
if full_length; then pairs=16; else pairs=6; fi
HYPAR_PROOF_PAIRS=${1:-$pairs} HYPAR_PROOF_SEED=${SEED:-11} HYPAR_PROOF_WRITE="$dir/pairs" \
    "$BUILD/tests/test_program_proof" >"$dir/proof" 2>&1 || wrong "the proof: $(grep ERROR "$dir/proof")"

tried=0 refused=0
for plan in "$dir"/pairs/*.plan.json; do
    if ! hypar train "$plan" --kernels reference --json --steps 2 --in-process --checkpoint "$dir/local" \
        >"$dir/local.out" 2>"$dir/err"; then
        refused=$((refused + 1))
        last=$(tail -n 1 "$dir/err")
        continue
    fi
    timeout 900 hypar train "$plan" --kernels reference --json --steps 2 --checkpoint "$dir/mpi" \
        >"$dir/mpi.out" 2>"$dir/err" || wrong "${plan##*/}: $(tail -n 1 "$dir/err")"
    losses "$dir/local.out" >"$dir/local.losses"
    losses "$dir/mpi.out" >"$dir/mpi.losses"
    losses=$(apart "$dir/mpi.losses" "$dir/local.losses")
    weights=$("$BUILD/tests/compare_checkpoints" "$dir/mpi" "$dir/local") || wrong "${plan##*/}: checkpoints"
    above "$losses" 1e-9 && wrong "${plan##*/}: losses differ by $losses"
    above "${weights%% *}" 1e-9 && wrong "${plan##*/}: weights differ by $weights"
    tried=$((tried + 1))
done
echo "$tried pairs trained alike, $refused not trained${last:+, the last: $last}"
[ $tried -gt $refused ] || wrong "too few were trained"
exit $fail
