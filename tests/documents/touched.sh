#!/bin/sh
# CONTRIBUTING.md names every file that a new operator, device, planner, option ... touches: the table's third
# column has just those in which its example occurs, and the files of the fourth have its name.
dir=$(mktemp -d) && trap 'rm -rf "$dir"' EXIT
fail=0
in_ticks() { # what stands in `ticks`, one a line
    grep -o '`[^`]*`' | tr -d '`'
}
sed -n '/^## What a new one touches/,/^## Tests/p' CONTRIBUTING.md | grep '^| an\{0,1\} ' >"$dir/rows"
for kind in operator device topology model planner 'option of planners' 'option of a command' command target 'term of memory'; do
    grep -q "^| an\{0,1\} $kind " "$dir/rows" || { echo "CONTRIBUTING.md: no row for a new $kind"; fail=1; }
done
while IFS='|' read -r _ what example files also _; do
    example=$(echo "$example" | in_ticks | head -1)
    name=${example##hp_*_} name=${name#hp_} name=${name#cmd_}
    echo "$files" | in_ticks | grep / | sort >"$dir/named"
    grep -rIlwiE -e "(OP_|OPT_|TAKES_)?$(echo "$example" | sed 's/_/[-_]/g')" src include cli python cmake tools tests docs examples README.md \
        ARCHITECTURE.md | grep -v '^docs/tutorial-\|^tests/fuzz/corpus/\|__pycache__' | sort >"$dir/found"
    diff "$dir/named" "$dir/found" >"$dir/diff" || {
        echo "CONTRIBUTING.md names (<) other files for$what than have $example (>):"
        grep '^[<>]' "$dir/diff"
        fail=1
    }
    for file in $(echo "$also" | in_ticks | grep /); do
        grep -qwi -e "$name" "$file" || { echo "$file does not name $name"; fail=1; }
    done
done <"$dir/rows"
exit $fail
