#!/bin/sh
# The commands in the README give what it shows: its console blocks, run as a transcript.
dir=$(mktemp -d) && trap 'rm -rf "$dir"' EXIT
awk '/^```console$/ { block = 1; next } /^```$/ { block = 0 }
     block { print /^\$ / ? $0 : /^$/ ? ">" : "> " $0 }' README.md >"$dir/readme.t"
grep -q '^\$ ' "$dir/readme.t" || { echo "README.md shows no command"; exit 1; }
if [ "$1" = --show ]; then
    sh tests/cli/run.sh --update "$dir/readme.t" >/dev/null
    sed 's/^> \{0,1\}//' "$dir/readme.t"
else
    sh tests/cli/run.sh "$dir/readme.t"
fi
