#!/bin/sh
# Fails if a module includes a header of one that tools/layers.txt does not grant it, or uses a
# function of one (public headers, <hypar/x.h>, name no module: what links does), if an outside
# library is included in a second file, or if the command looks past the public headers.
# $BUILD is the folder of a build; without it, or without nm, includes alone are looked at.
cd "$(dirname "$0")/.." || exit 2
fail=0

# Reads "module used place what" and tells those that are not granted.
granted() {
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
    !(($1, $2) in ok) { print $3 ": " $4 " of " $2 "/, which tools/layers.txt does not grant " $1; bad = 1 }
    END { exit bad }'
}

grep -rnE '^#include "' src |
    sed -E 's|^src/([a-z]+)/([^:]*:[0-9]+):#include "([a-z]+)/.*|\1 \3 src/\1/\2 a-header|' |
    granted || fail=1

# "src/MODULE/FILE.o:ADDRESS T NAME" defines, "src/MODULE/FILE.o: U NAME" uses.
objects=$BUILD/CMakeFiles/hypar.dir
if [ -d "$objects/src" ] && command -v nm >/dev/null; then
    find src -name '*.c' | (cd "$objects" && sed 's/$/.o/' | xargs nm -A -g) | awk '
        {
            split($1, path, "/")
            sub(/\.o:.*/, "", $1)
        }
        $(NF - 1) != "U" { home[$NF] = path[2] }
        $(NF - 1) == "U" { use[++n] = path[2] " " $1 " " $NF }
        END {
            for (i = 1; i <= n; i++) {
                split(use[i], part, " ")
                if (part[3] in home)
                    print part[1], home[part[3]], part[2], part[3] "()"
            }
        }' | granted || fail=1
else
    echo "no build or no nm: what links is not looked at"
fi

for header in jansson.h zlib.h valgrind/memcheck.h sanitizer/asan_interface.h hwloc.h mpi.h cblas.h onnx.pb-c.h argp.h; do
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
