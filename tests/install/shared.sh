#!/bin/sh
# A shared library, installed, is found by the command beside it, and still after the tree was
# moved; it exports what the headers declare and nothing else, under the name that says the ABI;
# nothing but the build's own packages is needed for it. Objects of $BUILD are used again if they were compiled by
# the same flags.
dir=$(mktemp -d) && trap 'rm -rf "$dir"' EXIT
unset LD_LIBRARY_PATH
cached() { # VARIABLE: of $BUILD
    sed -n "s/^$1:[A-Z]*=//p" "$BUILD/CMakeCache.txt"
}
flags() { # FOLDER TARGET: how its objects are compiled; a shared library's have one more definition, which nothing reads
    sed -e '/^#.*Generated/d' -e 's/-Dhypar_EXPORTS *//' -e "s|$1/|BUILD/|g" -e 's/ *$//' "$1/CMakeFiles/$2.dir/flags.make"
}
same_flags() { # TARGET
    flags "$BUILD" "$1" >"$dir/there" && flags "$dir/build" "$1" >"$dir/here" && cmp -s "$dir/there" "$dir/here"
}
{
    cmake -B "$dir/build" -S . -DCMAKE_BUILD_TYPE="$(cached CMAKE_BUILD_TYPE)" -DHYPAR_WERROR="$(cached HYPAR_WERROR)" \
        -DCMAKE_C_COMPILER="$CC" -DCMAKE_C_COMPILER_LAUNCHER="sh;$PWD/tests/install/built_object.sh" -DBUILD_SHARED_LIBS=ON &&
        if same_flags hypar && same_flags hypar-cli; then OBJECTS=$BUILD && export OBJECTS; fi &&
        cmake --build "$dir/build" -j 2 &&
        cmake --install "$dir/build" --prefix "$dir/usr"
} >"$dir/log" 2>&1 || { tail -n 20 "$dir/log"; exit 1; }
[ ! -e "$dir/build/tests" ] || { echo "tests were built without being asked for"; exit 1; }
mv "$dir/usr" "$dir/moved"
library=$(find "$dir/moved" -name libhypar.so)
[ -n "$library" ] || { echo "no shared library was installed"; exit 1; }
"$dir/moved/bin/hypar" --version | grep -q '^hypar ' || exit 1

# What a header declares for others has a visibility; its name stands before the first bracket.
"${CC:-cc}" -E -P -Iinclude include/hypar/hypar.h | tr '\n' ' ' |
    grep -o 'visibility("default")))[^;]*' | sed -n 's/^[^)]*)))//; s/__attribute__((noreturn))//; s/^\([^(]*\)(.*/\1/p' |
    grep -o 'hypar_[a-z0-9_]*$' | sort >"$dir/declared"
nm -D --defined-only "$library" | sed -n 's/.* T \([^@]*\).*/\1/p' | sort >"$dir/exported"
diff "$dir/declared" "$dir/exported" || { echo "< declared, > exported: they differ"; exit 1; }
[ "$(wc -l <"$dir/exported")" -gt 200 ] || { echo "few symbols are exported"; exit 1; }
if nm -D --defined-only "$library" | grep -v ' T .*@@HYPAR_\| A HYPAR_'; then
    echo "these are exported besides"
    exit 1
fi
abi=$(sed -n 's/^#define HYPAR_ABI_VERSION //p' include/hypar/base.h)
readelf -d "$library" | grep -q "SONAME.*\[libhypar.so.$abi\]" || { echo "wrong SONAME"; exit 1; }

# A planner that is loaded has the library from the command, however that is linked.
export PKG_CONFIG_PATH="$(dirname "$library")/pkgconfig"
"${CC:-cc}" -shared -fPIC $(pkg-config --cflags hypar) examples/planner.c -o "$dir/planner.so" &&
    "$dir/moved/bin/hypar" plan lenet5 --on full:4 -p "$dir/planner.so" --proposals 50 -q \
        -o "$dir/plan.json" && "$dir/moved/bin/hypar" check "$dir/plan.json" -q
