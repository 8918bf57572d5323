#!/bin/sh
# run.sh ASAN_PROGRAM [PROGRAM] - every overrun of an arena is reported by the address sanitizer and, where it is
# there and the library knows it, by valgrind; a program that does none is not.
asan=$1 plain=$2 fail=0

expect() { # WAY CODE TOOL: the exit code that the way to go wrong gave, and who looked
    if [ "$1" = 0 ] && [ "$2" != 0 ]; then
        echo "$3: reports a program that does nothing wrong" && fail=1
    elif [ "$1" != 0 ] && [ "$2" = 0 ]; then
        echo "$3: does not see overrun $1" && fail=1
    fi
}

for way in 0 1 2 3 4 5; do
    "$asan" $way >/dev/null 2>&1
    expect $way $? "address sanitizer"
done
if [ -n "$plain" ] && command -v valgrind >/dev/null; then
    for way in 0 1 2 3 4 5; do
        valgrind -q --error-exitcode=9 "$plain" $way >/dev/null 2>&1
        expect $way $? valgrind
    done
else
    echo "valgrind is not here, or was not when the library was built: not asked"
fi
exit $fail
