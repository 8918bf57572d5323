#!/bin/sh
# House rules that a compiler does not check. Each rule: what must not be there, where, and why.
cd "$(dirname "$0")/.." || exit 2
fail=0

rule() { # WHY PATTERN FOLDER...: comments do not count
    why=$1 pattern=$2
    shift 2
    found=$(grep -rnE --include='*.c' --include='*.h' "$pattern" "$@" 2>/dev/null |
        grep -vE '^[^:]*:[0-9]+:\s*(/?\*|//)' | grep -vE "${except:-^$}")
    if [ -n "$found" ]; then
        echo "$found"
        echo "    $why"
        fail=1
    fi
}

except='^src/base/memory.c:'
rule 'memory comes from base/arena.c, which has it from base/memory.c' '\b(malloc|calloc|realloc|free|alloca)\(' src
except='^src/(base/(memory|files/output)|machine/computer).c:|^src/emit/torch_text.*sys\.stderr' # texts in Python
rule 'the library never prints and never exits, but in base/memory.c and in children (machine/computer.c)' \
    '\b(printf|puts|putchar|perror|exit|abort|_exit)\(|\b(stdout|stderr|STDERR_FILENO)\b' src
except='or_out_of_memory\(|^src/base/files/output.c:.*"wx"'
rule 'NULL may be for want of memory: hypar_or_out_of_memory()' \
    '\b(fopen|fdopen|opendir|realpath|open_memstream|strdup|tmpfile)\(' src cli
except=
rule 'unbounded or stateful: use the bounded function' \
    '\b(strcat|sprintf|vsprintf|gets|strtok|atoi|atol|atof|rand|srand)\(' src cli include
except='^src/base/sort.c:'
rule 'qsort() does not take an empty array that is NULL: hp_sort()' '\bqsort\(' src cli
except=
rule 'structs keep their tag: no typedef' '\btypedef\s+(struct|union|enum)\b' src cli include
rule 'no unfinished work' '\b(TODO|FIXME|XXX|HACK)\b' src cli include tests bench examples
rule 'no tabs and no trailing blanks' '	|[ ]+$' src cli include tests bench examples

# A public function that neither the command, a report, an example nor a test calls is for nobody.
names=$(mktemp) && public=$(mktemp) && trap 'rm -f "$names" "$public"' EXIT
grep -rhoE 'hypar_[a-z0-9_]+' cli src/report examples tests bench --include='*.[ch]' | sort -u >"$names"
cat include/hypar/*.h | tr '\n' ' ' | grep -oE 'HYPAR_API [^;(]*\(' | grep -oE 'hypar_[a-z0-9_]+\(' |
    tr -d '(' | sort -u >"$public"
unused=$(comm -23 "$public" "$names")
if [ -n "$unused" ]; then
    echo "$unused"
    echo "    a public function that nobody calls"
    fail=1
fi
if [ "$(wc -l <"$public")" -gt 280 ]; then
    echo "$(wc -l <"$public") public functions, expected at most 280: docs/library.md says what to merge"
    fail=1
fi
exit $fail
