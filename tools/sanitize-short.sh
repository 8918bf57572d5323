#!/bin/sh
# sanitize-short.sh BUILD JOBS - the short form of `make sanitize`: the command, the corpora of the fuzz targets and a few
# test programs, built by clang with the address and undefined-behaviour sanitizers.
build=$1 jobs=$2
cd "$(dirname "$0")/.." || exit 2
tests='test_base_sort test_base_arena test_cost_optcnn'
corpora=$(for source in tests/fuzz/fuzz_*.c; do basename "$source" .c | sed 's/^fuzz/corpus/'; done)
cmake -B "$build" -S . -DCMAKE_C_COMPILER=clang -DHYPAR_TESTS=ON -DHYPAR_SANITIZE=ON -DCMAKE_BUILD_TYPE=Debug \
    -DCMAKE_C_FLAGS_DEBUG='-O0 -gline-tables-only' >/dev/null || exit 1
cmake --build "$build" -j "$jobs" --target hypar-cli $corpora $tests >"$build/log" 2>&1 || { tail -n 30 "$build/log"; exit 1; }
LSAN_OPTIONS="suppressions=$PWD/tests/lsan.supp:print_suppressions=0" && export LSAN_OPTIONS
ctest --test-dir "$build" -j "$jobs" --output-on-failure -R '^(fuzz/.*|base/(sort|arena)|cost/optcnn)$' || exit 1
PATH="$PWD/$build:$PATH" sh tests/cli/devices.sh short
