#!/bin/sh
# Install into an empty folder, then build against what is there as a user would: pkg-config
# only. BUILD, CC and CFLAGS come from CTest.
command -v pkg-config >/dev/null || exit 77
dir=$(mktemp -d) && trap 'rm -rf "$dir"' EXIT
set -e
cmake --install "$BUILD" --prefix "$dir/usr" >"$dir/log" || { cat "$dir/log"; exit 1; }

PKG_CONFIG_PATH=$(dirname "$(find "$dir/usr" -name hypar.pc)")
export PKG_CONFIG_PATH
LD_LIBRARY_PATH=$(dirname "$PKG_CONFIG_PATH")
export LD_LIBRARY_PATH
cflags="-std=c17 $(echo "$CFLAGS" | tr ';' ' ') $(pkg-config --cflags hypar)"
libs=$(pkg-config --libs hypar)
for source in tests/install/use.c examples/*.c; do
    [ -f "$source" ] || continue
    program=$dir/$(basename "$source" .c)
    "$CC" $cflags "$source" -o "$program" $libs
    echo "builds: $source"
done

version=$(pkg-config --modversion hypar)
[ "$("$dir/use")" = "$version" ] || { echo "library and hypar.pc differ in version"; exit 1; }
[ "$(env -u LD_LIBRARY_PATH "$dir/usr/bin/hypar" --version | head -n 1)" = "hypar $version" ]
for page in docs/man/*.[15]; do
    [ -f "$dir/usr/share/man/man${page##*.}/$(basename "$page")" ] || { echo "not installed: $page"; exit 1; }
done

# What training alone needs is loaded by training alone.
if command -v readelf >/dev/null && readelf -d "$dir/usr/bin/hypar" | grep 'NEEDED.*lib\(mpi\|openblas\)'; then
    exit 1
fi
PATH=$dir/usr/bin:$PATH
hypar train lenet5 --ranks 2 --in-process --batch 8 --planner dp --steps 1 -q >"$dir/log" || { cat "$dir/log"; exit 1; }
