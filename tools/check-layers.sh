#!/bin/sh
# Fails if a module includes a header of one that tools/layers.txt does not grant it, if an outside
# library is included in a second file, or if the command looks past the public headers.
cd "$(dirname "$0")/.." || exit 2
fail=0

grep -rnE '^#include "' src | sed -E 's|^src/([a-z]+)/([^:]*:[0-9]+):#include "([a-z]+)/.*|\1 \3 src/\1/\2|' |
awk -v rules=tools/layers.txt '
    BEGIN {
        while ((getline line < rules) > 0) {
            if (line ~ /^#/)
                continue
            n = split(line, word, /[: ]+/)
            module[++modules] = word[1]
            ok[word[1], word[1]] = 1
            for (i = 2; i <= n; i++) # rows stand in order, so the rows granted are complete
                for (m = 1; m <= modules; m++)
                    if ((word[i], module[m]) in ok)
                        ok[word[1], module[m]] = 1
        }
    }
    !(($1, $2) in ok) { print $3 ": " $1 " must not include " $2 "/"; bad = 1 }
    END { exit bad }' || fail=1

for header in jansson.h valgrind/memcheck.h sanitizer/asan_interface.h hwloc.h mpi.h cblas.h onnx.pb-c.h argp.h; do
    users=$(grep -rlE "^#include <$header>" src cli include)
    if [ "$(echo "$users" | wc -l)" -gt 1 ] || echo "$users" | grep -q '^include/'; then
        echo "<$header> belongs in one source file, is in:" $users
        fail=1
    fi
done

if grep -rnE '^#include "' cli | grep -vE '#include "cli/'; then
    echo 'cli/ may include "cli/..." and public headers only'
    fail=1
fi
exit $fail
