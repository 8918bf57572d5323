#!/bin/sh
# The rows of bench_grid, several at a time, and what they come to:
#
#     bench/grid.sh BUILD [JOBS [OPTIONS]]        e.g. bench/grid.sh build 16 --all
#                                                      bench/grid.sh build 4 --large
#
# Each pair of model and machine is a process of its own; those on large machines begin first.
# Rows are printed as they come.
set -eu
build=$1
jobs=${2:-$(nproc)}
shift
[ $# -gt 0 ] && shift
[ $# -gt 0 ] || set -- --all
case " $* " in
*" --large "*) pairs=12 ;;
*) pairs=96 ;;
esac
rows=$(mktemp)
trap 'rm -f "$rows"' EXIT
"$build/bench_grid" "$@" --part "0/$pairs"
seq "$pairs" -1 1 | xargs -P "$jobs" -I PART "$build/bench_grid" "$@" --part "PART/$pairs" |
    tee "$rows" || true
awk -F'|' '/^[|]/ {
    n++
    behind += /BEHIND|FAILED/
    wins += $(NF - 1) ~ /wins/
    none += $(NF - 1) ~ /nothing/
} END { printf "\n%d rows: %d behind, %d won by more than 1 %%, in %d nothing fits\n", n, behind, wins, none
        exit behind > 0 }' "$rows"
