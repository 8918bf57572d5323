#!/bin/sh
# links.sh [FOLDER] - what documents link to is there: files of the tree, relative to the document. What
# docs/papers.md calls an equation, an algorithm or a recurrence has its formula beside the function. A function that it
# names before a file is defined there; one that it names without a file is defined somewhere.
cd "${1:-.}" || exit 1
fail=0
for document in *.md bench/*.md docs/*.md; do
    [ -e "$document" ] || continue
    for link in $(grep -oE '\]\([^)#]+' "$document" | sed 's/^](//' | grep -v '^https\{0,1\}:'); do
        [ -e "$(dirname "$document")/$link" ] || { echo "$document: $link is not there"; fail=1; }
    done
done
formulas=$(grep -sE '^\| ([^|]*, )?(Eq\. [123]|Algorithm 1|T\^k|A\^k|NOAM|section 6\.2)[ ,]' docs/papers.md)
if [ -n "$formulas" ] && printf '%s\n' "$formulas" | grep -v -e ' = ' -e 'exp('; then
    echo "docs/papers.md: rows without their formula"
    fail=1
fi
rows=
[ ! -d src ] || rows=$(grep -s '^|' docs/papers.md) # installed documents have no sources beside them
missing=$(
    printf '%s\n' "$rows" | grep -oE '(`[a-z_0-9]+`, )*`[a-z0-9]+_[a-z_0-9]+` \(src/[a-z_0-9/]+\.c' | while read -r named; do
        file=${named##*(}
        for name in $(printf '%s\n' "$named" | grep -oE '`[a-z_0-9]+`' | tr -d '`'); do
            grep -qE "^[a-z].*([ *]|hp_planner_|\")$name[][\" (]" "$file" || echo "docs/papers.md: $name is not defined in $file"
        done
    done
    for name in $(printf '%s\n' "$rows" | grep -oE '`[a-z0-9]+(_[a-z0-9]+)+`|\| `[a-z_0-9]+` \|' | tr -d '`| ' | sort -u); do
        grep -rqE "^[a-z#].*[ *]$name[][ (;,]" src include || grep -rqE "^struct $name |^    .*[ *]$name[;,]" include src || echo "docs/papers.md: $name is not defined"
    done
)
[ -z "$missing" ] || { printf '%s\n' "$missing"; fail=1; }
exit $fail
