#!/bin/sh
# hosts.sh - training on several hosts, over TCP: network namespaces of this machine, each with a
# name and an address of its own, which a switch in one more namespace joins. Nothing of it is seen
# outside, and all goes at the end.
. tests/mpi/common.sh
command -v ip >/dev/null || { echo "skipped: no ip (Debian: iproute2)"; exit 77; }
name=hypar-$$
end() {
    for host in a b c switch; do
        for pid in $(ip netns pids "$name-$host" 2>/dev/null); do
            kill -KILL "$pid" 2>/dev/null
        done
        ip netns del "$name-$host" 2>/dev/null
    done
    rm -rf "$dir"
}
trap end EXIT
ip netns add "$name-switch" 2>/dev/null || { echo "skipped: no right to make network namespaces"; exit 77; }
ip -n "$name-switch" link add bridge type bridge 2>"$dir/err" && ip -n "$name-switch" link set bridge up 2>>"$dir/err" ||
    { echo "skipped: $(cat "$dir/err")"; exit 77; }
number=0
for host in a b c; do
    number=$((number + 1))
    ip netns add "$name-$host" &&
        ip -n "$name-$host" link add eth type veth peer name "to-$host" netns "$name-switch" &&
        ip -n "$name-switch" link set "to-$host" master bridge up &&
        ip -n "$name-$host" address add "10.83.0.$number/24" dev eth &&
        ip -n "$name-$host" link set eth up &&
        ip -n "$name-$host" link set lo up || exit 1
    echo "10.83.0.$number slots=1" >>"$dir/hosts"
done

run="train lenet5 --planner dp --batch 9 --steps 4 --kernels reference --precision fp64 --json"
hypar $run --ranks 3 >"$dir/here" || wrong "three ranks of this host"
losses "$dir/here" >"$dir/expected"

# A command on a host, which has a name of its own there.
cat >"$dir/on" <<'AGENT'
#!/bin/sh
# on HOST COMMAND... - as ssh does, in the network namespace of the host.
case $1 in
*.1 | a) host=a ;;
*.2 | b) host=b ;;
*.3 | c) host=c ;;
esac
shift
exec ip netns exec "$NAMESPACE-$host" unshare --uts sh -c 'hostname "$0" && eval "$1"' "$NAMESPACE-$host" "$*"
AGENT
chmod +x "$dir/on"
export NAMESPACE="$name" OMPI_MCA_plm_rsh_agent="$dir/on" OMPI_MCA_btl=tcp,self OMPI_MCA_btl_tcp_if_include=eth
export OMPI_MCA_oob_tcp_if_include=eth
"$dir/on" a true || { echo "skipped: no right to use them"; exit 77; }
on() { # HOST COMMAND...: within a minute
    timeout -k 1 600 "$dir/on" "$@" </dev/null
}
received() { # HOST: bytes that came over its network
    ip netns exec "$name-$1" cat /sys/class/net/eth/statistics/rx_bytes 2>/dev/null ||
        ip -n "$name-$1" -s link show eth | awk '/RX:/ { getline; print $1 }'
}

same() { # WHAT
    losses "$dir/out" >"$dir/got"
    cmp "$dir/got" "$dir/expected" || wrong "$1: other losses: $(cat "$dir/err")"
    [ "$(find "$dir" -name '*.part*' | wc -l)" = 0 ] || wrong "$1: left $(ls "$dir")"
}

# Started by the command, the plan found on host a.
before=$(received c)
on a hypar $run --ranks 3 --hostfile "$dir/hosts" --checkpoint "$dir/c" --trace "$dir/trace" >"$dir/out" 2>"$dir/err" ||
    wrong "--hostfile: $(cat "$dir/err")"
same "--hostfile"
[ $(($(received c) - before)) -gt 100000 ] || wrong "nothing came to the third host"
grep -q '"pid": 4, "tid": 2, "dur"' "$dir/trace" || wrong "no times of rank 2"

# By a launcher of one's own; from a checkpoint, on fewer hosts.
on a mpirun --quiet --allow-run-as-root -n 3 --hostfile "$dir/hosts" hypar $run >"$dir/out" 2>"$dir/err" ||
    wrong "mpirun --hostfile: $(cat "$dir/err")"
same "mpirun --hostfile"
head -n 2 "$dir/hosts" >"$dir/two"
on a hypar $run --steps 6 --ranks 2 --hostfile "$dir/two" --resume "$dir/c" >"$dir/out" 2>"$dir/err" ||
    wrong "--resume on two hosts: $(cat "$dir/err")"

# A host that goes away: one line, in a few seconds.
on a hypar $run --ranks 3 --hostfile "$dir/hosts" --steps 1000000 >"$dir/out" 2>"$dir/err" &
pid=$!
for try in $(seq 200); do
    grep -qs '"step": 3,' "$dir/out" && break
    sleep 0.1
done
for other in $(ip netns pids "$name-b"); do
    kill -KILL "$other" 2>/dev/null
done
wait $pid
rc=$?
[ $rc = 4 ] || wrong "a host that goes away: exit code $rc: $(cat "$dir/err")"
exit $fail
