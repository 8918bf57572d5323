#!/bin/sh
# links.sh [FOLDER] - what documents link to is there: files of the tree, relative to the document.
cd "${1:-.}" || exit 1
fail=0
for document in *.md bench/*.md docs/*.md; do
    [ -e "$document" ] || continue
    for link in $(grep -oE '\]\([^)#]+' "$document" | sed 's/^](//' | grep -v '^https\{0,1\}:'); do
        [ -e "$(dirname "$document")/$link" ] || { echo "$document: $link is not there"; fail=1; }
    done
done
exit $fail
