#!/bin/sh
# hardened.sh BINARY - was it built as cmake/flags.cmake says? Each row: what readelf shows of it.
command -v readelf >/dev/null || { echo "no readelf" && exit 77; }
readelf -hW "$1" >/dev/null 2>&1 || { echo "$1 is no ELF file" && exit 77; }
fail=0
shows() { # BINARY OPTION PATTERN WHAT
    readelf "$2" "$1" | grep -Eq "$3" && return
    echo "wrong: $4 is missing"
    fail=1
}
shows "$1" -hW 'Type: *DYN' "position independence"
shows "$1" -lW 'GNU_RELRO' "RELRO"
shows "$1" -dW 'BIND_NOW|FLAGS_1.*NOW' "binding before the start"
shows "$1" -lW 'GNU_STACK.* RW ' "a stack that is not executable"
shows "$1" -sW '__stack_chk_fail' "the stack protector"
shows "$1" -sW '__(v|f|vf|s|vs|sn|vsn)printf_chk|__mem(cpy|move|set)_chk' "_FORTIFY_SOURCE"
exit $fail
