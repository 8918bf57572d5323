#!/bin/sh
# valgrind.sh BUILD - every unit test under valgrind.
command -v valgrind >/dev/null || {
    echo "valgrind is not installed: apt-get install valgrind" >&2
    exit 1
}
cd "$(dirname "$0")/.." || exit 2
fail=0
for test in "$1"/tests/test_*; do
    echo "valgrind: $test"
    valgrind -q --leak-check=full --errors-for-leak-kinds=definite --error-exitcode=1 "$test" \
        >/dev/null || fail=1
done
exit $fail
