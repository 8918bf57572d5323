#!/bin/sh
# devices.sh - every planner on machines of one, two and three devices, where arrays of groups, links and messages may be
# empty. Sanitizers see reads past an empty array; without them this test checks that each plan is accepted by
# `check`, is simulated, sends nothing on one device, and trains. `devices.sh short`, or in the short form of the tests
# (tests/length.h): fewer machines, and random searches of few proposals.
sh tests/cli/current.sh || exit 2
. tests/length.sh
dir=$(mktemp -d) && trap 'rm -rf "$dir"' EXIT
all='local:N cluster:1xN cluster:Nx1 htree:N ring:N full:N mesh:1xN torus:Nx1'
proposals=
[ "$1" != short ] && full_length || all='local:N cluster:1xN ring:N' proposals='--proposals 50'
runs=0 bad=0
wrong() {
    bad=$((bad + 1))
    echo "wrong: $*"
    tail -n 25 "$dir/err" | sed 's/^/    | /'
}

# Exit code 1 with one line is a refusal: a planner may have no plan for so few devices.
plan() { # NETWORK MACHINE PLANNER
    rm -f "$dir/plan"
    case $3 in auto | flexflow) few=$proposals ;; *) few= ;; esac
    hypar plan "$1" --on "$2" --planner "$3" --batch 12 $few -q -o "$dir/plan" >"$dir/out" 2>"$dir/err"
    rc=$?
    [ $rc != 1 ] || [ "$(wc -l <"$dir/err")" != 1 ] || return 1
    [ $rc = 0 ] || { wrong "plan $*: exit code $rc"; return 1; }
    return 0
}
sent() {
    sed -n 's/.*"comm_bytes": \([0-9]*\).*/\1/p' "$dir/out" | head -n 1
}
try() { # DEVICES NETWORK MACHINE PLANNER
    devices=$1
    shift
    runs=$((runs + 1))
    plan "$@" || return
    hypar check "$dir/plan" -q >"$dir/out" 2>"$dir/err" || wrong "check $*"
    hypar simulate "$dir/plan" --json >"$dir/out" 2>"$dir/err" || wrong "simulate $*"
    [ "$devices" != 1 ] || [ "$(sent)" = 0 ] || wrong "$*: one device sends $(sent) bytes"
}

planners=$(hypar planners --json | sed -n 's/.*"name": "\([^"]*\)".*/\1/p')
for devices in 1 2 3; do
    for network in mlp:8-6-4 lenet5; do
        topologies=$all
        [ $network = mlp:8-6-4 ] || topologies=local:N
        for planner in $planners; do
            for topology in $topologies; do
                machine=$(echo "$topology" | sed "s/N/$devices/")
                hypar machines "$machine" -q >/dev/null 2>&1 || continue # htree:3 is no machine
                try "$devices" "$network" "$machine" "$planner"
                [ $planner,$topology != auto,local:N ] || cp "$dir/plan" "$dir/best"
            done
        done
        for kernels in reference fast; do
            runs=$((runs + 1))
            what=$dir/best
            [ -n "$proposals" ] || what="$network --ranks $devices --batch 12" # it plans itself
            hypar train $what --steps 2 --in-process --kernels $kernels -q >"$dir/out" 2>"$dir/err" ||
                wrong "train $network on $devices, kernels $kernels"
        done
        rm -f "$dir/best"
        echo "$network on $devices devices: $runs runs"
    done
    hypar plan mlp:8-6-4 --on local:$devices --planner dp --batch 12 -q -o "$dir/plan" >"$dir/out" 2>"$dir/err" || wrong "dp"
    for command in 'report -o out.html' explain 'lower -o out.json' 'simulate --trace out.json'; do
        runs=$((runs + 1))
        (cd "$dir" && hypar ${command%% *} plan $(echo "$command" | cut -s -d' ' -f2-) >out 2>err) ||
            wrong "$command on $devices"
    done
done
echo "$runs runs, $bad wrong"
[ $bad = 0 ] && [ $runs -gt 50 ]
