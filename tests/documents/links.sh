#!/bin/sh
# What documents link to is there: files of the tree, relative to the document.
fail=0
for document in README.md CONTRIBUTING.md ARCHITECTURE.md bench/README.md docs/*.md; do
    for link in $(grep -oE '\]\([^)#]+' "$document" | sed 's/^](//' | grep -v '^https\{0,1\}:'); do
        [ -e "$(dirname "$document")/$link" ] || { echo "$document: $link is not there"; fail=1; }
    done
done
exit $fail
