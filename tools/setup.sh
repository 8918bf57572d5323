#!/bin/sh
# setup.sh build|test|fuzz - see that what the build needs is there; on Debian install what is not.
# Says nothing when nothing is missing. As an ordinary user without sudo it names the command.

missing=
need() { # PACKAGE COMMAND...: the package is missing unless the command succeeds
    package=$1
    shift
    "$@" >/dev/null 2>&1 || missing="$missing $package"
}
has() {
    command -v "$1"
}

compiles() { # COMMAND LANGUAGE
    echo '#include <stdio.h>' | $1 -x "$2" -fsyntax-only -
}

sanitizes() {
    echo 'int main(void) { return 0; }' | clang -fsanitize=address,undefined -x c -o /dev/null -
}

mpi_tools() {
    has mpicc && has mpirun
}

onnx_tools() {
    pkg-config --exists libprotobuf-c && has protoc-c
}

need build-essential compiles "${CC:-cc}" c
need cmake has cmake
need pkg-config has pkg-config
need libjansson-dev pkg-config --exists jansson
need zlib1g-dev pkg-config --exists zlib
if [ "$1" != build ] || [ -n "$missing" ]; then # welcome, but no reason to stop a build
    need libhwloc-dev pkg-config --exists hwloc
    need libopenblas-dev pkg-config --exists openblas
    need "libopenmpi-dev openmpi-bin" mpi_tools
    need "libprotobuf-c-dev protobuf-c-compiler" onnx_tools
fi
if [ "$1" != build ]; then
    need g++ compiles "${CXX:-c++}" c++
    need libcmocka-dev pkg-config --exists cmocka
    need clang-format has clang-format
fi
if [ "$1" = fuzz ]; then
    need "clang libclang-rt-dev" sanitizes
fi
[ -n "$missing" ] || exit 0

install="apt-get install -y --no-install-recommends$missing"
if ! has apt-get >/dev/null; then
    echo "setup: missing (Debian's package names):$missing" >&2
    exit 1
fi
if [ "$(id -u)" = 0 ]; then
    root=env
elif sudo -n true 2>/dev/null; then
    root='sudo -n env'
else
    echo "setup: missing:$missing" >&2
    echo "setup: run as root: apt-get update && $install" >&2
    exit 1
fi
echo "setup: installing$missing" >&2
log=$(mktemp) && trap 'rm -f "$log"' EXIT
if ! { $root apt-get update && $root DEBIAN_FRONTEND=noninteractive $install; } >"$log" 2>&1; then
    tail -n 20 "$log" >&2
    echo "setup: failed; run as root: apt-get update && $install" >&2
    exit 1
fi
