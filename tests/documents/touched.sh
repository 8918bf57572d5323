#!/bin/sh
# CONTRIBUTING.md names every file that a new operator, device, model, planner or target touches: the
# table's third column has just those in which its example occurs, and the files of the fourth have its name.
dir=$(mktemp -d) && trap 'rm -rf "$dir"' EXIT
fail=0
in_ticks() { # what stands in `ticks`, one a line
    grep -o '`[^`]*`' | tr -d '`'
}
sed -n '/^## What a new one touches/,/^## Tests/p' CONTRIBUTING.md | grep '^| an\{0,1\} ' >"$dir/rows"
[ "$(wc -l <"$dir/rows")" = 5 ] || { echo "CONTRIBUTING.md: expected five kinds of things to add"; exit 1; }
while IFS='|' read -r _ what example files also _; do
    example=$(echo "$example" | in_ticks | head -1)
    name=${example##hp_*_}
    echo "$files" | in_ticks | sort >"$dir/named"
    grep -rIlwiE -e "(OP_)?$example" src include cli python cmake tools tests docs examples README.md \
        ARCHITECTURE.md | grep -v '^docs/tutorial-\|^tests/fuzz/corpus/\|__pycache__' | sort >"$dir/found"
    diff "$dir/named" "$dir/found" >"$dir/diff" || {
        echo "CONTRIBUTING.md names (<) other files for$what than have $example (>):"
        grep '^[<>]' "$dir/diff"
        fail=1
    }
    for file in $(echo "$also" | in_ticks); do
        grep -qw -e "$name" "$file" || { echo "$file does not name $name"; fail=1; }
    done
done <"$dir/rows"
exit $fail
