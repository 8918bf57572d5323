#!/bin/sh
# run.sh [MACHINE...] - collectives and message patterns on SimGrid and in hypar, side by side.
#
# SimGrid (Debian: libsimgrid-dev) runs real MPI programs on simulated links. Here it gets the links
# and routes of hypar's machines, its plain fluid network model (CM02: latency + bytes/share), no
# overheads of an MPI library, and the same algorithms. The columns: SimGrid's microseconds; hypar's
# with the collective as one task; with every message simulated, first come, first served; the least
# that any algorithm needs; then the second and the third over the first. "shared": messages of one
# round cross the same link, which SimGrid lets them share and hypar serves one after the other.
# Exit 1 if a row (marked !) is not within 15 % of SimGrid, or is faster than the least;
# messages that share links are only shown.
# README.md says which algorithm is compared with which, and which rows differ and why.
#
# BUILD (build): where libhypar.a is.  SIZES: bytes.  PAIR_SIZES: those of all-to-all's messages.
cd "$(dirname "$0")/../.." || exit 2
command -v smpicc >/dev/null || {
    echo 'simgrid: smpicc is missing; install libsimgrid-dev' >&2
    exit 77
}
build=${BUILD:-build}
sizes=${SIZES:-1024 65536 1048576 67108864}
pair_sizes=${PAIR_SIZES:-1024 65536 1048576 4194304}
[ -f "$build/libhypar.a" ] || make BUILD="$build" all || exit 2
work=$(mktemp -d) && trap 'rm -rf "$work"' EXIT
libraries=$(for l in jansson hwloc libprotobuf-c; do pkg-config --libs $l 2>/dev/null; done)
# shellcheck disable=SC2086
"${CC:-cc}" -std=c17 -O2 -D_POSIX_C_SOURCE=200809L -I. -Iinclude -Isrc bench/simgrid/messages.c \
    "$build/libhypar.a" $libraries -lm -o "$work/messages" || exit 2
smpicc -O2 bench/simgrid/collectives.c -o "$work/collectives" || exit 2

# Latency and bandwidth as the platform has them; no time for the library; a message is sent when
# its receiver waits for it, and a send ends when the message has arrived.
neutral='--log=root.thres:warning --cfg=network/model:CM02 --cfg=network/TCP-gamma:0
    --cfg=network/crosstraffic:0 --cfg=network/latency-factor:1 --cfg=network/bandwidth-factor:1
    --cfg=network/weight-S:0 --cfg=smpi/os:0:0:0 --cfg=smpi/or:0:0:0 --cfg=smpi/ois:0:0:0
    --cfg=smpi/bw-factor:0:1 --cfg=smpi/lat-factor:0:1 --cfg=smpi/async-small-thresh:0
    --cfg=smpi/send-is-detached-thresh:0 --cfg=smpi/simulate-computation:no
    --cfg=smpi/host-speed:1f --cfg=smpi/wtime:0 --cfg=smpi/init:0 --cfg=smpi/test:0
    --cfg=smpi/iprobe:0 --cfg=smpi/finalization-barrier:no --cfg=surf/precision:1e-12'
# Sent at once, whether the receiver waits or not.
eager='--cfg=smpi/send-is-detached-thresh:2000000000 --cfg=smpi/async-small-thresh:2000000000'

bad=0
one() { # KIND ALGORITHM BLOCK SETTING...: on $machine
    kind=$1 algorithm=$2 block=$3
    shift 3
    # shellcheck disable=SC2086
    smpirun -platform "$work/platform.xml" -hostfile "$work/hosts" -np "$devices" $neutral "$@" \
        "$work/collectives" "$kind" "$(echo "$algorithm" | tr ' ' _)" "$block" $sizes \
        >"$work/result" 2>"$work/log" || {
        tail -n 5 "$work/log" >&2
        echo "simgrid: $machine: $kind by $algorithm failed" >&2
        bad=1
    }
    grep ';' "$work/result" | "$work/messages" compare "$machine" "$block" || bad=1
}

printf '%-18s %-14s %-20s %9s %11s %11s %11s %11s %6s %6s\n' machine collective algorithm bytes \
    'SimGrid us' 'one task' served least one served
[ $# -gt 0 ] || set -- torus:4x4 torus:2x2x2 mesh:4x4 ring:8 full:8 cluster:2x4 cluster:4x4 \
    cluster:4x4,nics=4 cluster:3x4 htree:8
for machine; do
    "$work/messages" platform "$machine" >"$work/platform.xml" || exit 2
    devices=$(grep -c '<host' "$work/platform.xml")
    seq 0 $((devices - 1)) | sed 's/^/d/' >"$work/hosts"
    one send direct 0
    one halo direct 0
    one opposite direct 0
    one all-reduce ring 0 --cfg=smpi/allreduce:lr
    one all-reduce 'recursive doubling' 0 --cfg=smpi/allreduce:rdb
    one all-reduce 'halving and doubling' 0 --cfg=smpi/allreduce:rab_rdb
    for block in $("$work/messages" blocks "$machine"); do
        one all-reduce hierarchical "$block" --cfg=smpi/reduce_scatter:ompi_ring \
            --cfg=smpi/allreduce:lr --cfg=smpi/allgather:NTSLR
    done
    one reduce-scatter ring 0 --cfg=smpi/reduce_scatter:ompi_ring
    one all-gather ring 0 --cfg=smpi/allgather:NTSLR
    one broadcast tree 0 --cfg=smpi/bcast:binomial_tree
    one broadcast 'scatter, all-gather' 0 --cfg=smpi/bcast:scatter_LR_allgather
    # shellcheck disable=SC2086
    one reduce tree 0 --cfg=smpi/reduce:binomial $eager
    all_sizes=$sizes sizes=$pair_sizes
    one all-to-all pairwise 0 --cfg=smpi/alltoall:ring
    one all-to-all 'all at once' 0 --cfg=smpi/alltoall:basic_linear
    sizes=$all_sizes
    case $machine in
    cluster:[24]x4*) # both kinds of traffic at once, inside nodes and between them
        # shellcheck disable=SC2086
        one near direct 0 $eager
        # shellcheck disable=SC2086
        one near-and-far direct 0 $eager
        ;;
    esac
done
exit $bad
