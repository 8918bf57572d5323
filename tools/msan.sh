#!/bin/sh
# msan.sh BUILD [JOBS] - every unit test, and the corpus of every fuzz target, under clang's memory
# sanitizer, which tells uses of memory that was never written.
#
# It takes for never written what code built without it writes. So jansson, protobuf-c and cmocka
# are built with it too, from Debian's source packages, kept in BUILD/libraries. Left out: hwloc
# (the machine word local:N), OpenBLAS (the fast kernels) and tests that run other programs (cli/, install).
cd "$(dirname "$0")/.." || exit 2
mkdir -p "$1/libraries" && here=$(cd "$1/libraries" && pwd) || exit 2
jobs=${2:-1}
flags='-fsanitize=memory -fsanitize-memory-track-origins -fno-omit-frame-pointer -g -O1 -fPIC'

fetch() { # PACKAGE...: their sources, without a word to the system's own lists
    . /etc/os-release
    mkdir -p lists/partial
    echo "deb-src http://deb.debian.org/debian $VERSION_CODENAME main" >list
    rm -rf jansson-* cmocka-* protobuf-c-*
    for verb in update "source $*"; do
        # shellcheck disable=SC2086
        apt-get -q -o Dir::Etc::sourcelist="$here/list" -o Dir::Etc::sourceparts=- \
            -o Dir::State::lists="$here/lists" $verb || return
    done
}
with_cmake() { # SOURCE OPTION...
    source=$1
    shift
    cmake -B "$source/build" -S "$source" -DCMAKE_C_COMPILER=clang -DCMAKE_C_FLAGS="$flags" \
        -DBUILD_SHARED_LIBS=OFF -DCMAKE_POLICY_VERSION_MINIMUM=3.5 -DCMAKE_INSTALL_PREFIX="$here" -DCMAKE_INSTALL_LIBDIR=lib "$@" &&
        cmake --build "$source/build" -j "$jobs" && cmake --install "$source/build"
}
protobuf() { # SOURCE: one file; its own build wants more than that
    # shellcheck disable=SC2086
    clang $flags -w -I"$1" -c "$1/protobuf-c/protobuf-c.c" -o protobuf-c.o &&
        ar rcs lib/libprotobuf-c.a protobuf-c.o &&
        printf 'Name: protobuf-c\nDescription: for msan\nVersion: 1.4\nLibs: %s\nCflags: %s\n' \
            "-L$here/lib -lprotobuf-c" "-I$here/$1" >lib/pkgconfig/libprotobuf-c.pc
}
libraries() {
    cd "$here" || return
    fetch jansson cmocka protobuf-c &&
        with_cmake jansson-* -DJANSSON_BUILD_DOCS=OFF -DJANSSON_EXAMPLES=OFF \
            -DJANSSON_WITHOUT_TESTS=ON &&
        with_cmake cmocka-*.*.? -DWITH_EXAMPLES=OFF && protobuf protobuf-c-*
}

if [ ! -e "$here/lib/pkgconfig/libprotobuf-c.pc" ]; then
    (libraries) >"$here/log" 2>&1 || { tail -n 20 "$here/log" >&2; exit 1; }
fi
PKG_CONFIG_PATH=$here/lib/pkgconfig cmake -B "$1" -S . -DCMAKE_C_COMPILER=clang -DCMAKE_BUILD_TYPE=Release \
    -DHYPAR_TESTS=ON -DHYPAR_WERROR=ON -DHYPAR_SANITIZE=memory -DHYPAR_WITH_HWLOC=OFF -DHYPAR_WITH_BLAS=OFF >/dev/null &&
    cmake --build "$1" -j "$jobs" &&
    HYPAR_SEEDS=2 HYPAR_PROOF_PAIRS=200 ctest --test-dir "$1" -j "$jobs" -E '^(cli|tools|install|headers)' --output-on-failure
