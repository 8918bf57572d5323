#!/bin/sh
# A shared library, installed, is found by the command beside it, and still after the tree was
# moved; nothing but the build's own packages is needed for it.
dir=$(mktemp -d) && trap 'rm -rf "$dir"' EXIT
unset LD_LIBRARY_PATH
{
    cmake -B "$dir/build" -S . -DCMAKE_BUILD_TYPE=Debug -DBUILD_SHARED_LIBS=ON &&
        cmake --build "$dir/build" -j 2 &&
        cmake --install "$dir/build" --prefix "$dir/usr"
} >"$dir/log" 2>&1 || { tail -n 20 "$dir/log"; exit 1; }
[ ! -e "$dir/build/tests" ] || { echo "tests were built without being asked for"; exit 1; }
mv "$dir/usr" "$dir/moved"
for file in "$dir"/moved/lib*/libhypar.so "$dir"/moved/lib*/*/libhypar.so; do
    [ -e "$file" ] && found=1
done
[ -n "$found" ] || { echo "no shared library was installed"; exit 1; }
"$dir/moved/bin/hypar" --version | grep -q '^hypar '
