#!/bin/sh
# Install into an empty folder, then build against what is there as a user would: with pkg-config,
# and with CMake's find_package(); and uninstall. BUILD, CC and CFLAGS come from CTest.
command -v pkg-config >/dev/null || exit 77
dir=$(mktemp -d) && trap 'rm -rf "$dir"' EXIT
set -e
cmake --install "$BUILD" --prefix "$dir/usr" >"$dir/log" || { cat "$dir/log"; exit 1; }
cp "$BUILD/install_manifest.txt" "$dir/manifest"

PKG_CONFIG_PATH=$(dirname "$(find "$dir/usr" -name hypar.pc)")
export PKG_CONFIG_PATH
LD_LIBRARY_PATH=$(dirname "$PKG_CONFIG_PATH")
export LD_LIBRARY_PATH
sanitize=$(echo "$CFLAGS" | tr ';' ' ')
cflags="-std=c17 -Wall -Wextra -Werror $sanitize $(pkg-config --cflags hypar)"
libs=$(pkg-config --libs hypar)
cp -r "$dir/usr/share/doc/hypar/examples" tests/install/use.c "$dir"
builds() { # PROGRAM SOURCE...
    program=$dir/$1
    shift
    (cd "$dir" && "$CC" $cflags "$@" -o "$program" $libs)
    echo "builds: $*"
}
builds use use.c
for name in plan edit_plan sweep; do
    builds $name examples/$name.c
done
builds try_planner examples/try_planner.c examples/planner.c
(cd "$dir" && "$CC" -shared -fPIC $cflags examples/planner.c -o planner.so)
for source in examples/*.c; do # none is left out
    [ -f "$dir/examples/$(basename "$source")" ] || { echo "not installed: $source"; exit 1; }
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

# The examples do what they say: away from the sources, with what is installed.
cd "$dir"
expect() { # TEXT COMMAND...: its output has that
    text=$1
    shift
    "$@" >out 2>&1 || { cat out; echo "failed: $*"; exit 1; }
    grep -q -- "$text" out || { cat out; echo "expected '$text' from: $*"; exit 1; }
}
expect 'GB sent in a step of' ./plan
expect 'the most for a device' ./sweep lenet5 full:4 64,128 2,4
hypar plan vgg16 --on cluster:2x8,device=v100 --planner dp -q -o dp.json
expect '^fc1 (linear, .* n=16 .*, read by' ./edit_plan dp.json
./edit_plan dp.json fc1 k=16 >changed.json 2>steps
expect '"k": 16' cat changed.json
hypar check changed.json -q
if ./edit_plan dp.json fc1 q=2 2>log >half.json; then exit 1; fi
expect 'no axis of fc1' cat log
[ ! -s half.json ]

# A planner of one's own: in a program, where it beats dp on three models, and loaded.
expect 'us a proposal' ./try_planner cluster:2x8,device=v100 300 alexnet vgg16 resnet18
cat out
expect '^climb ' hypar planners --planner ./planner.so
expect '^climb .*\*' hypar compare alexnet --on cluster:2x8,device=v100 --planner dp,./planner.so
hypar plan alexnet --on cluster:2x8,device=v100 -p ./planner.so --proposals 100 -q -o climb.json
hypar check climb.json -q
for bad in ./nowhere.so ./dp.json; do
    if hypar plan lenet5 --on full:2 -p $bad >log 2>&1; then exit 1; fi
    [ "$(wc -l <log)" = 1 ] || { cat log; exit 1; }
done
sed 's/HYPAR_ABI_VERSION,/HYPAR_ABI_VERSION + 1,/' examples/planner.c >older.c
"$CC" -shared -fPIC $cflags older.c -o older.so
if hypar plan lenet5 --on full:2 -p ./older.so >log 2>&1; then exit 1; fi
expect '^hypar: ./older.so: a planner made for version 2' cat log

# CMake finds the package, also after the tree was moved.
mv usr moved
{
    cmake -B by-cmake -S examples -DCMAKE_PREFIX_PATH="$dir/moved" -DCMAKE_C_COMPILER="$CC" \
        -DCMAKE_C_FLAGS="$sanitize" && cmake --build by-cmake
} >log 2>&1 || { tail -n 20 log; exit 1; }
export LD_LIBRARY_PATH="$dir/moved/${LD_LIBRARY_PATH#"$dir/usr/"}"
expect 'GB sent in a step of' by-cmake/plan
expect '^climb ' moved/bin/hypar planners --planner by-cmake/planner.so
mv moved usr

# What shells complete is where they look for it.
for file in bash-completion/completions/hypar zsh/site-functions/_hypar fish/vendor_completions.d/hypar.fish; do
    grep -q hypar "$dir/usr/share/$file" || { echo "not installed: share/$file"; exit 1; }
done

# All of it is removed again, and nothing else; under a DESTDIR too.
touch "$dir/usr/bin/other" "$dir/usr/include/other.h"
cmake -DMANIFEST="$dir/manifest" -P "$BUILD/uninstall.cmake" >"$dir/log" 2>&1 || { cat "$dir/log"; exit 1; }
left=$(cd "$dir/usr" && find . ! -type d | sort | tr '\n' ' ')
[ "$left" = "./bin/other ./include/other.h " ] || { echo "left after uninstalling: $left"; exit 1; }
[ ! -d "$dir/usr/include/hypar" ] && [ ! -d "$dir/usr/share/doc/hypar" ] || { echo "empty folders are left"; exit 1; }
! cmake -DMANIFEST="$dir/manifest" -P "$BUILD/uninstall.cmake" 2>/dev/null || { echo "uninstalled twice"; exit 1; }
DESTDIR=$dir/root
export DESTDIR
cmake --install "$BUILD" --prefix /opt/hypar >"$dir/log" || { cat "$dir/log"; exit 1; }
cp "$BUILD/install_manifest.txt" "$dir/manifest"
[ -x "$dir/root/opt/hypar/bin/hypar" ]
cmake -DMANIFEST="$dir/manifest" -P "$BUILD/uninstall.cmake" >"$dir/log" 2>&1 || { cat "$dir/log"; exit 1; }
[ -z "$(find "$dir/root" ! -type d)" ] || { echo "left under DESTDIR: $(find "$dir/root" ! -type d)"; exit 1; }
