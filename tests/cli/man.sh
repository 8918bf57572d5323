#!/bin/sh
# The manual and the help agree: every command has a page, every option of its --help is in that
# page and the other way round, and the pages are well-formed (where mandoc is installed).
fail=0
complain() {
    echo "$*"
    fail=1
}
options_of_help() {
    hypar "$1" --help | grep -oE -- '--[a-z][a-z-]*' | sort -u
}
options_of_page() { # ".It Fl b , Fl -batch Ar N" names --batch
    grep -E '^\.It Fl' "$1" | grep -oE 'Fl -[a-z][a-z-]*' | sed 's/^Fl /-/' | sort -u
}

dir=$(mktemp -d) && trap 'rm -rf "$dir"' EXIT
commands=$(hypar --help | sed -n 's/^  \([a-z]*\)  *.*/\1/p')
[ -n "$commands" ] || complain "hypar --help lists no command"
for command in $commands; do
    page=docs/man/hypar-$command.1
    if [ ! -f "$page" ]; then
        complain "$page is missing"
        continue
    fi
    options_of_help "$command" >"$dir/help"
    options_of_page "$page" >"$dir/page"
    diff "$dir/help" "$dir/page" >"$dir/diff" ||
        complain "$page and 'hypar $command --help' differ: $(grep '^[<>]' "$dir/diff")"
    sed '/^\.Sh SEE ALSO/,$d' docs/man/hypar.1 | grep -q "^\.Xr hypar-$command 1" ||
        complain "hypar.1 does not describe hypar-$command(1)"
done
for page in docs/man/hypar-*.1; do
    command=${page#docs/man/hypar-}
    echo "$commands" | grep -qx "${command%.1}" || complain "$page describes no command"
done

pages_of() { # those that the text on standard input refers to
    sed -nE 's/^\.Xr (hypar[a-z-]*) ([15]).*/\1.\2/p' | sort -u
}
for page in docs/man/*.[15]; do
    sed -n '/^\.Sh SEE ALSO/,$p' "$page" | pages_of >"$dir/also"
    for name in $(pages_of <"$page"); do
        [ -f "docs/man/$name" ] || complain "$page refers to $name, which is missing"
        grep -qx "$name" "$dir/also" || complain "$page does not name $name in SEE ALSO"
    done
    grep -q '^\.Os hypar$' "$page" || complain "$page does not say '.Os hypar'"
    if command -v mandoc >/dev/null; then
        # pages are dated when they are installed
        mandoc -Tlint -W warning "$page" | grep -v 'missing date' && fail=1
    fi
    if man --version 2>/dev/null | grep -q '^man '; then # man-db's
        man --warnings -l -Tutf8 -Z "$page" 2>&1 >/dev/null | grep warning && fail=1
    fi
done
exit $fail
