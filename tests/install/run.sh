#!/bin/sh
# Install into an empty folder, then build against what is there as a user would: with pkg-config,
# and with CMake's find_package(); and uninstall. BUILD, CC and CFLAGS come from CTest.
command -v pkg-config >/dev/null || exit 77
dir=$(mktemp -d) && trap 'rm -rf "$dir"' EXIT
set -e
uninstall=$PWD/tools/uninstall.sh links=$PWD/tests/documents/links.sh
cmake --install "$BUILD" --prefix "$dir/usr" >"$dir/log" || { cat "$dir/log"; exit 1; }

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
grep -q '^\.Dd [A-Z][a-z]* [0-9]*, [0-9]*$' "$dir/usr/share/man/man1/hypar.1" && grep -qx ".Os hypar $version" "$dir/usr/share/man/man1/hypar.1" ||
    { echo "a page does not tell its date and version"; exit 1; }

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
expect '"evaluated": 100,' hypar plan alexnet --on full:4 -p ./planner.so --proposals 100 --json
expect 'climb: not tried, as it does not say in_auto' hypar plan sfc --on full:2 -p auto,./planner.so
hypar check climb.json -q
for bad in ./nowhere.so ./dp.json; do
    if hypar plan lenet5 --on full:2 -p $bad >log 2>&1; then exit 1; fi
    [ "$(wc -l <log)" = 1 ] || { cat log; exit 1; }
done
sed 's/HYPAR_ABI_VERSION,/HYPAR_ABI_VERSION + 1,/' examples/planner.c >older.c
"$CC" -shared -fPIC $cflags older.c -o older.so
if hypar plan lenet5 --on full:2 -p ./older.so >log 2>&1; then exit 1; fi
expect '^hypar: ./older.so: a planner made for version' cat log

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

# What the installed documents link to is installed.
sh "$links" "$dir/usr/share/doc/hypar"
for folder in machines plans models data; do
    [ -d "$dir/usr/share/doc/hypar/examples/$folder" ] || { echo "not installed: examples/$folder"; exit 1; }
done

# Each installation is removed by itself, with the folders that it made, and nothing else is: one
# in another folder, one under a DESTDIR, one with a blank in its name, and one made twice.
fails() { # TEXT COMMAND...: in one line with that text
    text=$1
    shift
    if "$@" >out 2>&1; then cat out; echo "expected to fail: $*"; exit 1; fi
    [ "$(wc -l <out)" = 1 ] && grep -q -- "$text" out || { cat out; echo "expected '$text' from: $*"; exit 1; }
}
put() { # DESTDIR PREFIX
    DESTDIR=$1 cmake --install "$BUILD" --prefix "$2" >log || { cat log; exit 1; }
}
mkdir -p "there/lib"
put "" "$dir/a b"
put "" "$dir/there"
put "" "$dir/there"
put "$dir/pkg" "$dir/a b"
put "$dir/pkg" /opt/hypar
fails "^uninstall: no installation in '/opt/hypar'" sh "$uninstall" /opt/hypar
fails "^uninstall: expected a PREFIX" sh "$uninstall" ""
expect '^[0-9]* files removed from' sh "$uninstall" "$dir/a b"
[ ! -e "a b" ] && [ -x "pkg$dir/a b/bin/hypar" ] && [ -x pkg/opt/hypar/bin/hypar ] && [ -x there/bin/hypar ]
expect 'files removed' env DESTDIR="$dir/pkg" sh "$uninstall" /opt/hypar
expect 'files removed' env DESTDIR="$dir/pkg" sh "$uninstall" "$dir/a b"
[ -z "$(ls pkg)" ] || { echo "left under DESTDIR: $(find pkg)"; exit 1; }
expect 'files removed' sh "$uninstall" "$dir/there"
[ "$(find there)" = "there
there/lib" ] || { echo "not what was there before: $(find there)"; exit 1; }
touch usr/bin/other usr/include/other.h
expect 'files removed' sh "$uninstall" "$dir/usr"
left=$(cd usr && find . | LC_ALL=C sort | tr '\n' ' ')
[ "$left" = ". ./bin ./bin/other ./include ./include/other.h " ] || { echo "left after uninstalling: $left"; exit 1; }
fails "^uninstall: no installation in '$dir/usr'" sh "$uninstall" "$dir/usr"
