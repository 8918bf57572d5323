#!/bin/sh
# truth.sh BUILD [RANKS] - every measured time that is at hand beside its prediction: published steps, memory and collectives
# (../shared/data/measured), operators and steps of an H200 (bench/h200), and training on this machine with RANKS (2) ranks. What
# is not there is skipped with a line. docs/accuracy.md has the tables.
build=${1:-build} ranks=${2:-2}
here=$(cd "$(dirname "$0")" && pwd)
cd "$here/.." || exit
status=0

title() {
    echo "== $*"
    echo
}

title "Published: collectives, steps and memory"
{ cmake --build "$build" --target bench_truth >/dev/null && "$build/bench_truth" --rows; } || status=1
echo

title "Measured on an H200"
sh bench/truth_h200.sh "$build/hypar" || status=1
echo

title "This machine, $ranks ranks"
if [ -f bench/truth_local.sh ]; then
    sh bench/truth_local.sh "$build" "$ranks" || status=1
else
    echo "skipped: no bench/truth_local.sh"
fi
exit $status
