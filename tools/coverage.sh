#!/bin/sh
# coverage.sh FOLDER [FILTER] - what the tests have run of src/ (FILTER: of another path): lines and
# branches, by folder and by file. FOLDER is a build with gcc's --coverage in which they ran.
# coverage.sh --check - is gcovr there?
# Every branch counts but those of asserts, which are none: gcovr leaves their lines out.
folder=$1
filter=${2:-src/}
if ! command -v gcovr >/dev/null; then
    echo "coverage: gcovr is missing; install it with: pip install gcovr" >&2
    exit 1
fi
[ "$folder" != --check ] || exit 0
table=$(mktemp) && trap 'rm -f "$table"' EXIT
gcovr --root . --filter "$filter" --merge-mode-functions separate \
    --exclude-branches-by-pattern '^ *assert\(.*' --csv "$table" "$folder" || exit
awk -F, '
    function percent(part, whole) { return whole ? 100 * part / whole : 100 }
    NR == 1 {
        for (i = 1; i <= NF; i++)
            at[$i] = i
        next
    }
    {
        dir = $1
        sub(/\/[^\/]*$/, "", dir)
        n_of = split(dir SUBSEP $1 SUBSEP "total", of, SUBSEP)
        for (i = 1; i <= n_of; i++) {
            lines[of[i]] += $at["line_total"]
            run[of[i]] += $at["line_covered"]
            branches[of[i]] += $at["branch_total"]
            taken[of[i]] += $at["branch_covered"]
        }
    }
    END {
        printf "%-36s %6s %7s %9s %7s\n", "", "lines", "run", "branches", "taken"
        for (name in lines)
            printf "%-36s %6d %6.1f%% %9d %6.1f%%\n", name, lines[name],
                   percent(run[name], lines[name]), branches[name],
                   percent(taken[name], branches[name]) | "LC_ALL=C sort"
    }' "$table"
