#!/bin/sh
# lint.sh BUILD - what is worth a look: clang-tidy's findings, and functions above 80 lines.
cd "$(dirname "$0")/.." || exit 2
fail=0
sources=$(find src cli -name '*.c' | sort)

awk '
    FNR == 1 { start = 0 }
    /^\{/ { start = FNR }
    /^\}/ {
        if (start && FNR - start > 80) {
            print FILENAME ":" start ": a function of " FNR - start " lines"
            bad = 1
        }
        start = 0
    }
    END { exit bad }' $sources $(find tests -name '*.c' | sort) || fail=1

# Left out: matters of taste, and what clang 14 finds wrongly (va_list, X-macros).
checks=-*,clang-analyzer-*,bugprone-*,misc-redundant-expression
for out in bugprone-easily-swappable-parameters bugprone-narrowing-conversions \
    bugprone-branch-clone bugprone-reserved-identifier bugprone-macro-parentheses \
    clang-analyzer-security.insecureAPI.DeprecatedOrUnsafeBufferHandling \
    clang-analyzer-security.insecureAPI.strcpy clang-analyzer-valist.Uninitialized \
    clang-analyzer-optin.performance.Padding; do
    checks=$checks,-$out
done
if ! command -v clang-tidy >/dev/null; then
    echo "clang-tidy is not installed: apt-get install clang-tidy" >&2
    exit 1
fi
clang-tidy --quiet -p "$1" --warnings-as-errors='*' --checks="$checks" $sources || fail=1
exit $fail
