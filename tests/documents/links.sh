#!/bin/sh
# links.sh [FOLDER] - what documents link to is there: files of the tree, relative to the document. What
# docs/papers.md calls an equation, an algorithm or a recurrence has its formula beside the function.
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
exit $fail
