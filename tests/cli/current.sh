#!/bin/sh
# current.sh - the command that tests run is not older than the library that was built beside it: one test program
# builds the library again, but not the command.
command=$(command -v hypar) || { echo 'hypar is not in PATH: PATH=$PWD/build:$PATH' >&2; exit 2; }
library=${command%/*}/libhypar.a
[ -z "$(find "$library" -newer "$command" 2>/dev/null)" ] && exit 0
echo "$command is older than $library: build it first, by 'make tests' or the target hypar-cli" >&2
exit 2
