#!/bin/sh
# Every key of the results' JSON and CSV is in docs/formats-results.md: in the part about the
# command, or in the part about what several have. Every key of a column and every key of PUT() (src/report/table.h) is
# somewhere in the documents of formats, except keys of the page and of Perfetto. Every topology is in the table of docs/formats-machine.md,
# every schedule in that of docs/formats-plan.md, every
# all-reduce in docs/man/hypar-simulate.1, every collective algorithm in the table of docs/simulator.md.
fail=0
dir=$(mktemp -d) && trap 'rm -rf "$dir"' EXIT
page=docs/formats-results.md

part() { # the text below a heading
    sed -n "/^## $1\$/,/^## /p" "$page"
}
check() { # COMMAND: the keys on standard input
    part 'Objects that several have' >"$dir/part"
    part "hypar $1" >>"$dir/part"
    sort -u | while read -r key; do
        grep -qF "\`$key\`" "$dir/part" || echo "$page: hypar $1 does not tell of '$key'"
    done >>"$dir/missing"
}
json() { # COMMAND ARGUMENT...
    hypar "$@" --json -q >"$dir/json" || fail=1
    [ -s "$dir/json" ] || fail=1
    # one letter is an axis of a split
    grep -oE '"[a-z_]{2,}":' "$dir/json" | tr -d '":' | check "$1"
}
csv() {
    hypar "$@" --csv "$dir/csv" -q >/dev/null || fail=1
    head -n 1 "$dir/csv" | tr , '\n' | check "$1"
}

: >"$dir/missing"
for planner in dp hypar optcnn gpipe pipedream 3d auto 'flexflow --proposals 8'; do
    # shellcheck disable=SC2086
    json plan lenet5 --on cluster:1x4 --planner $planner
done
json plan lenet5 --on full:2 --planner dp --batch max --memory 2MB
csv plan lenet5 --on full:2 --planner dp
for planner in dp gpipe pipedream; do
    hypar plan lenet5 --on cluster:1x4 --planner $planner -q -o "$dir/$planner" || fail=1
    json simulate "$dir/$planner"
    json explain "$dir/$planner"
done
json simulate "$dir/dp" --as eager
csv simulate "$dir/dp"
json compare "$dir/dp" "$dir/gpipe"
json compare lenet5 --on full:4 --planner dp,pipedream,flexflow --proposals 8
csv compare lenet5 --on full:4 --planner dp
csv compare "$dir/dp"
json explore lenet-c --on htree:4 --levels H1
json explore lenet-c --on htree:4 --devices 2,4
json explore lenet5 --on cluster:1x4 --batch 32,64 --planner 3d
csv explore lenet-c --on htree:4 --levels H1
csv explore lenet5 --on cluster:1x4 --batch 32,64 --planner 3d

# { "heading", "key", AS_FORM, ...
sed -nE 's/^ *\{ (NULL|"[^"]*"), "([a-z0-9_]+)", AS_.*/\2/p' src/report/*/*.c src/report/*.c | sort -u >"$dir/columns"
# TEXT("key", ...
find src/report -name '*.c' ! -path '*/html/*' -exec cat {} + | grep -oE '\b(TEXT|INT|NUMBER|POSITIVE|FLAG|RECORD)\("[a-z0-9_]+"' |
    sed 's/.*("//; s/"//' | sort -u >"$dir/members"
[ "$(wc -l <"$dir/members")" -gt 100 ] || { echo "too few members in src/report" && fail=1; }
[ "$(wc -l <"$dir/columns")" -gt 100 ] || { echo "too few columns in src/report" && fail=1; }
while read -r key; do
    grep -qE "\`(args\.)?$key\`" docs/formats-*.md || echo "docs/formats-results.md: no '$key', which src/report writes"
done <<KEYS >>"$dir/missing"
$(sort -u "$dir/columns" "$dir/members" | grep -vxE 'each|sort_index|end|form|key')
KEYS

topologies=$(hypar machines none:2 2>&1 | sed -n 's/.*expected one of //p' | tr -d ,)
[ -n "$topologies" ] || fail=1
for topology in $topologies; do
    grep -q "^| \`$topology:" docs/formats-machine.md ||
        echo "docs/formats-machine.md: no row for '$topology'" >>"$dir/missing"
done

all_reduces=$(sed -n 's/.*{ COMM_ALL_REDUCE, *"\([^"]*\)".*/\1/p' src/cost/collective_algorithms.c | tr ' ' -)
[ -n "$all_reduces" ] || fail=1
for algorithm in $all_reduces; do
    grep -q "^\.Ql $algorithm\( ,\| or\)*\$" docs/man/hypar-simulate.1 ||
        echo "docs/man/hypar-simulate.1: no '$algorithm' under --all-reduce" >>"$dir/missing"
done
sed -n '/^| | algorithms |$/,/^$/p' docs/simulator.md | tr '[:upper:]' '[:lower:]' >"$dir/table"
sed -nE 's/^ *\{ COMM_([A-Z_]+), *"([^"]*)".*/\1|\2/p' src/cost/collective_algorithms.c >"$dir/collectives"
[ "$(wc -l <"$dir/collectives")" -gt 20 ] || { echo "too few rows in src/cost/collective_algorithms.c" && fail=1; }
while IFS='|' read -r kind algorithm; do
    kind=$(echo "$kind" | tr '[:upper:]_' '[:lower:]-')
    grep -E "^\| [^|]*\b$kind\b" "$dir/table" | grep -qE "[|,;:] $algorithm\b" ||
        echo "docs/simulator.md: no '$algorithm' in the row of '$kind' of the table of algorithms" >>"$dir/missing"
done <"$dir/collectives"
schedules=$(hypar plan lenet5 --on full:2 --planner 3d --schedule frob 2>&1 | sed 's/.* is not //; s/ or /, /; s/,//g')
[ -n "$schedules" ] || fail=1
for schedule in $schedules; do
    grep -q "^| \`name\` | .*\`$schedule\`" docs/formats-plan.md ||
        echo "docs/formats-plan.md: no schedule '$schedule' in the row of 'name'" >>"$dir/missing"
done

sort -u "$dir/missing"
[ $fail = 0 ] && [ ! -s "$dir/missing" ]
