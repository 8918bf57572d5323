#!/bin/sh
# valgrind.sh BUILD [MODULE...] - every unit test, or those of some modules, under valgrind.
command -v valgrind >/dev/null || {
    echo "valgrind is not installed: apt-get install valgrind" >&2
    exit 1
}
cd "$(dirname "$0")/.." || exit 2
build=$1
shift
[ $# -gt 0 ] || set -- ''
export HYPAR_TEST_LENGTH=full
export HYPAR_PROOF_PAIRS="${HYPAR_PROOF_PAIRS:-50}" # of 1000: fifty times as slow
fail=0
for module; do
    for test in "$build/tests/test_$module"*; do
        echo "valgrind: $test"
        valgrind -q --leak-check=full --show-leak-kinds=definite --errors-for-leak-kinds=definite \
            --error-exitcode=1 "$test" >/dev/null || fail=1
    done
done
exit $fail
