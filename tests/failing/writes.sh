#!/bin/sh
# writes.sh PRELOAD - what a disk cannot keep, and signals: a file appears whole or not at all.
preload=$1 fail=0
ulimit -c 0 # no core files
dir=$(mktemp -d) && trap 'rm -rf "$dir"' EXIT
out=$dir/folder/out
mkdir "$dir/folder"

wrong() {
    echo "$*"
    fail=1
}

# WHAT: nothing but the old file may be there
only_old() {
    [ "$(ls -A "$dir/folder")" = out ] && [ "$(cat "$out")" = old ] ||
        wrong "$1: left $(ls -A "$dir/folder")"
}

# EIO: the disk did not keep it. EINVAL (22) and ENOTSUP (95): it never says.
echo old >"$out"
FAIL_FSYNC=5 LD_PRELOAD=$preload hypar import lenet5 -q -o "$out" 2>"$dir/err"
rc=$?
[ $rc = 4 ] || wrong "fsync fails: exit $rc, expected 4"
[ "$(cat "$dir/err")" = "hypar: $out: cannot write: Input/output error" ] ||
    wrong "fsync fails: $(cat "$dir/err")"
only_old 'fsync fails'
for error in 22 95; do
    rm "$out"
    FAIL_FSYNC=$error LD_PRELOAD=$preload hypar import lenet5 -q -o "$out" ||
        wrong "fsync with error $error: exit $?"
    hypar import lenet5 -o - | cmp - "$out" || fail=1
done

# Is a file open that has no name, or a temporary one?
being_written() { # PROCESS
    ls "$dir/folder" | grep -q 'part$' || ls -l "/proc/$1/fd" 2>/dev/null | grep -q "$dir/folder/.*(deleted)"
}
kill= # nothing can be done after that one where an unfinished file has a name
[ -n "$FAIL_TMPFILE" ] || kill=KILL

# A signal ends the process by that same signal, and what it was writing is gone. A shell lets what
# it starts in the background ignore two of them.
echo old >"$out"
for signal in HUP INT QUIT ILL TRAP ABRT BUS FPE USR1 SEGV USR2 PIPE ALRM TERM XCPU VTALRM PROF SYS \
    RTMIN RTMAX $kill; do
    FAIL_FSYNC=-1 LD_PRELOAD=$preload env --default-signal=INT,QUIT \
        hypar import lenet5 -q -o "$out" 2>"$dir/err" &
    process=$!
    tries=0
    until being_written $process || [ $((tries += 1)) -gt 1000 ]; do
        sleep 0.01
    done
    kill -"$signal" $process
    wait $process 2>/dev/null
    rc=$?
    [ "$(kill -l $rc 2>/dev/null)" = $signal ] || wrong "SIG$signal: status $rc"
    [ ! -s "$dir/err" ] || wrong "SIG$signal: $(cat "$dir/err")"
    only_old "SIG$signal"
done

# One that nothing can be done after: the next command removes what it left.
FAIL_FSYNC=-1 LD_PRELOAD=$preload hypar import lenet5 -q -o "$out" &
process=$!
tries=0
until being_written $process || [ $((tries += 1)) -gt 1000 ]; do
    sleep 0.01
done
kill -KILL $process
wait $process 2>/dev/null
next() {
    LD_PRELOAD=$preload hypar import lenet5 -q -o "$out" || wrong "after SIGKILL: exit $?"
}
[ -z "$FAIL_TMPFILE" ] || { # of another host, maybe, which still writes
    next
    ls "$dir/folder" | grep -q 'part$' || wrong "after SIGKILL: a file that was written just now is removed"
    touch -d '2 hours ago' "$dir/folder/"*.part
}
next
[ "$(ls -A "$dir/folder")" = out ] || wrong "after SIGKILL: left $(ls -A "$dir/folder")"
exit $fail
