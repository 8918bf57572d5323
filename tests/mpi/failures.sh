#!/bin/sh
# failures.sh - what goes wrong on one rank or on all is told in one line, once, with the right
# exit code and within seconds; signals end a run after its step; nothing unfinished stays behind.
. tests/mpi/common.sh
command -v pgrep >/dev/null || { echo "skipped: no pgrep"; exit 77; }
export COLUMNS=200 # a note is one line
trap - HUP INT TERM # a background command that is not hypar yet would take it for its own
root=$(pwd)
cd "$dir" || exit 1
mkdir work && cd work || exit 1
mpi="mpirun --quiet --oversubscribe"
[ "$(id -u)" != 0 ] || mpi="$mpi --allow-run-as-root"
hypar plan lenet5 --on local:2 --batch 8 --planner dp -q -o plan.json || exit 1

# What is wrong before there are ranks: at full length asked of two ranks, in the short form of one process.
asked=--in-process
! full_length || asked=
run() { # ARGUMENTS...: of a run that goes well, within 300 s
    timeout -k 1 300 hypar train "$@" -q >/dev/null
}

nothing_left() { # WHAT
    left=$(find "$dir" -name '*.part*')
    [ -z "$left" ] || wrong "$1: left $left"
}

# Of mpirun's own lines there are many; ours is one.
fails() { # EXIT-CODE LINE COMMAND...
    want=$1 line="hypar: $2"
    shift 2
    timeout -k 1 200 "$@" </dev/null >"$dir/out" 2>"$dir/err"
    rc=$?
    [ $rc = "$want" ] || wrong "exit code $rc, expected $want: $*"
    case $1 in mpirun) grep '^hypar' "$dir/err" >"$dir/ours" ;; *) cp "$dir/err" "$dir/ours" ;; esac
    case $line in
    'hypar: @'*) # how it begins
        [ "$(wc -l <"$dir/ours")" = 1 ] && grep -q "^hypar: ${line#*@}" "$dir/ours" ;;
    *) [ "$(cat "$dir/ours")" = "$line" ] ;;
    esac || wrong "$*: said '$(cat "$dir/ours")'"
    nothing_left "$*"
}

# Ranks and devices.
fails 1 '--ranks 3, but the plan has 2 devices: one for each' hypar train plan.json --ranks 3
fails 1 'there are 3 ranks, and the plan has 2 devices: one for each' $mpi -n 3 hypar train plan.json
fails 1 'there are 3 ranks, and the plan has 2 devices: one for each' \
    $mpi -n 3 hypar train lenet5 --on local:2 --batch 8

fails 2 'train: --ranks 2, but 3 were started' $mpi -n 3 hypar train plan.json --ranks 2

# Processes that a launcher has started and MPI does not join: what they need instead.
alone='there is 1 rank, and the plan has 2 devices'
fails 1 "$alone: srun started 2 processes, which MPI does not join: expected srun --mpi=pmix" \
    env SLURM_NTASKS=2 PMI_RANK=0 PMI_SIZE=2 hypar train plan.json
fails 1 "$alone: srun started 4 processes, which MPI does not join: expected srun --mpi=pmix" \
    env SLURM_STEP_ID=0 SLURM_STEP_NUM_TASKS=4 SLURM_NTASKS=8 hypar train plan.json
fails 1 "$alone: mpirun started 2 processes, which MPI does not join: expected the mpirun of the Open MPI that hypar loads" \
    env OMPI_COMM_WORLD_SIZE=2 hypar train plan.json
fails 1 "$alone: one for each" env SLURM_NTASKS=2 $mpi -n 1 hypar train plan.json

# Standard input.
fails 2 'train: standard input reaches one rank alone, expected a file' $mpi -n 2 hypar train -
fails 2 'train: a plan cannot name a model read from standard input, expected a file, or --in-process' \
    sh -c 'hypar train - --ranks 2 <"$0"' "$root/examples/models/mlp.json"
run - --steps 1 <plan.json || wrong "a plan from standard input"

# Words that mpirun would take for its own, and a variable that says nothing.
for word in : --mca -x; do
    run plan.json --steps 1 --checkpoint $word && [ -s "./$word" ] || wrong "a checkpoint called $word"
done
echo 'localhost slots=2' >:
run plan.json --steps 1 --hostfile : || wrong "a file of hosts called :"
(export HYPAR_TRAIN_PLAN=nowhere && run plan.json --steps 1) || wrong "HYPAR_TRAIN_PLAN, and two ranks"
(export HYPAR_TRAIN_PLAN=nowhere && run lenet5 --batch 8 --steps 1) || wrong "HYPAR_TRAIN_PLAN, and one rank"

# A label that one rank alone reads, and in a test.
digits=$root/examples/data/digits
cp "$digits-test-y.npy" labels.npy
printf M | dd of=labels.npy bs=1 seek=278 conv=notrunc 2>/dev/null
fails 3 "labels.npy: sample 150, element 0: 77, expected 0 to 9 for input 'labels'" \
    hypar train "$root/examples/models/digits.json" --ranks 2 --planner dp --steps 1 -q \
    --data "$digits-train-x.npy,$digits-train-y.npy" --test-data "$digits-test-x.npy,labels.npy"

# What cannot be run.
hypar plan lenet5 --on local:2 --batch 8 --precision fp16 --planner dp -q -o fp16.json
fails 3 'fp16.json: precision fp16 cannot be run: bf16, fp32 and fp64 can' hypar train fp16.json
cat >opaque.json <<'GRAPH'
{"format": "hypar-graph/1", "name": "net", "batch": 4,
 "inputs": [{"name": "x", "shape": [4, 8]}, {"name": "y", "shape": [4], "index": true}],
 "ops": [{"name": "f", "kind": "linear", "inputs": ["x"], "attrs": {"out": 8}},
         {"name": "o", "kind": "opaque", "inputs": ["f"], "attrs": {"shape": [4, 8], "flops": 9}},
         {"name": "loss", "kind": "cross_entropy", "inputs": ["o", "y"]}]}
GRAPH
grep -v '"loss"\|"o"' opaque.json | sed 's/{"out": 8}},/{"out": 8}}]}/' >no-loss.json
fails 3 "@opaque" hypar train opaque.json --ranks 2 --planner dp
fails 3 'no-loss.json: net has no loss, expected a cross_entropy or mse_loss at its end' \
    hypar train no-loss.json --ranks 2 --planner dp

# Words and files.
fails 2 "--kernels: 'slow' is not fast or reference" hypar train plan.json $asked --kernels slow
fails 2 "--rate: 'linear' is not constant or cosine" hypar train plan.json $asked --rate linear
fails 3 'nowhere.npy: cannot open: No such file or directory' hypar train plan.json $asked --data nowhere.npy
fails 4 'nowhere/c: cannot write: No such file or directory' \
    hypar train plan.json $asked --checkpoint nowhere/c
fails 4 'nowhere/o: cannot write: No such file or directory' hypar train plan.json -o nowhere/o
printf '\223NUMPY\001\000\166\000%-117s\n' "{'descr': '<f4', 'fortran_order': False, 'shape': (8, 5), }" >x.npy
head -c 160 /dev/zero >>x.npy
fails 3 "x.npy: samples of shape [5], expected [1, 28, 28] for input 'x'" \
    hypar train plan.json $asked --data x=x.npy,labels=x.npy

# Checkpoints.
run plan.json --steps 3 --checkpoint good || wrong "a good checkpoint"
head -c 100 good >short
echo 'no checkpoint' >foreign
fails 3 "@short: " hypar train plan.json $asked --resume short
fails 3 '@foreign: ' hypar train plan.json $asked --resume foreign
fails 3 'good: it is of another model, or was made with another --batch' \
    hypar train lenet5 --batch 16 --ranks 2 $asked --resume good
fails 2 'good: it has 3 steps already, expected --steps above' \
    hypar train plan.json $asked --resume good --steps 3
fails 4 '/dev/full: cannot write: No space left on device' \
    hypar train plan.json $asked --steps 2 --checkpoint /dev/full -q
mkdir full
if mount -t tmpfs -o size=400k none full 2>/dev/null; then
    cp good full/c
    fails 4 "$(pwd)/full/c: cannot write: No space left on device" \
        hypar train plan.json $asked --steps 2 --checkpoint full/c -q
    cmp -s good full/c || wrong "a full disk took the old checkpoint"
    umount full
else
    echo "not tried: a full disk of our own"
fi

# No number: the checkpoint of before stays. A flipped byte, found by whichever rank reads it.
cp good before
fails 1 'the loss of step 3 is nan, expected a finite number; a lower --learning-rate may help' \
    hypar train plan.json --learning-rate 1e38 -q --checkpoint good
cmp -s good before || wrong "a loss that is not finite took the old checkpoint"
fails 1 'the loss of step 3 is nan, expected a finite number; a lower --learning-rate may help' \
    $mpi -n 2 hypar train plan.json --learning-rate 1e38 -q
fails 1 "after step 1: good: not written, as 'conv1.w' has values that are not finite; a lower --learning-rate may help" \
    hypar train plan.json --learning-rate 1e39 -q --steps 1 --checkpoint good
cmp -s good before || wrong "parameters that are not finite took the old checkpoint"
for at in 3000 $(($(wc -c <good) - 1)); do
    (head -c $at before && printf '\252' && tail -c +$((at + 2)) before) >flipped
    fails 3 "@flipped: tensor '" hypar train plan.json --steps 6 --resume flipped
done

# Without mpirun.
mkdir bin && ln -s "$(command -v hypar)" bin/hypar
fails 4 'mpirun cannot be started (Debian: openmpi-bin); --in-process does without it' \
    env PATH="$(pwd)/bin" hypar train plan.json
env PATH="$(pwd)/bin" "$(command -v timeout)" 300 hypar train plan.json --in-process -q >/dev/null || wrong "in-process without mpirun"

# Without ssh: mpirun says why, and its exit status is no signal.
ln -s "$(command -v mpirun)" bin/mpirun
echo nowhere >host
env -u OMPI_MCA_plm PATH="$(pwd)/bin" "$(command -v timeout)" 200 hypar train plan.json --hostfile host </dev/null >"$dir/out" 2>"$dir/err"
rc=$?
[ $rc = 4 ] && grep -q 'plm_rsh_agent: ssh : rsh' "$dir/err" && tail -n 1 "$dir/err" | grep -q '^hypar: mpirun failed: exit status [0-9]*$' ||
    wrong "without ssh: exit code $rc, said '$(cat "$dir/err")'"

# Without a word of a rank but that it waits: mpirun says why, and its status is not that of a rank.
mkdir lost && cat >lost/mpirun <<'END' && chmod +x lost/mpirun
#!/bin/sh
rule=$(printf %040d 0 | tr 0 -)
echo 'hypar: waiting for rank 1 on b: no message for 30 s' >&2
printf '%s\nlost b\n%s\n' "$rule" "$rule" >&2
exit 1
END
PATH=$(pwd)/lost:$PATH timeout 200 hypar train plan.json </dev/null >"$dir/out" 2>"$dir/err"
rc=$?
[ $rc = 4 ] && grep -q '^lost b$' "$dir/err" && [ "$(tail -n 1 "$dir/err")" = 'hypar: mpirun failed: exit status 1' ] ||
    wrong "mpirun lost a host: exit code $rc, said '$(cat "$dir/err")'"

# Hosts that cannot be entered, and one with fewer slots than ranks.
printf 'nowhere slots=1\nelsewhere slots=1\n' >hosts
unreached=': expected that ssh enters without a password, and that Open MPI and hypar are there under the same paths'
fails 4 "ranks could not be started on the hosts of hosts$unreached" \
    env -u OMPI_MCA_plm OMPI_MCA_plm_rsh_agent=false hypar train plan.json --hostfile hosts
echo nowhere >host
fails 4 "ranks could not be started on nowhere$unreached" \
    env -u OMPI_MCA_plm OMPI_MCA_plm_rsh_agent=false hypar train plan.json --hostfile host
printf '#!/bin/sh\necho "ssh: $1: no such host" >&2\nexit 255\n' >agent && chmod +x agent
printf 'node1\nnode10\nnode2\n' >hosts
timeout -k 1 200 env -u OMPI_MCA_plm OMPI_MCA_plm_rsh_agent="$(pwd)/agent" hypar train plan.json --hostfile hosts </dev/null >"$dir/out" 2>"$dir/err"
line=$(grep '^hypar: ranks could not be started on ' "$dir/err" | sed 's/: expected.*//')
for host in node1 node2 node10; do # those that were tried, each as a word
    [ "$(grep -c "^ssh: $host:" "$dir/err")" = "$(echo "$line," | grep -c " $host,")" ] || wrong "several hosts: said '$(cat "$dir/err")'"
done
for slots in 0 -1 two 2x; do
    printf '# hosts\nhere slots=1\nthere slots = %s\n' $slots >hosts
    fails 3 "hosts:3: slots=$slots, expected a whole number from 1 to 1000000" hypar train plan.json --hostfile hosts
done
echo '# none' >hosts
fails 3 'hosts: names no host, expected one in a line' hypar train plan.json --hostfile hosts
echo 'localhost slots=1 # one core' >host
run plan.json --steps 1 --hostfile host || wrong "one slot for two ranks"
timeout -k 1 300 hypar train plan.json --steps 1 --hostfile host 2>"$dir/err" >"$dir/out" || wrong "one slot for two ranks"
grep -q '^hypar: note: host: 1 slot for 2 ranks: some share one$' "$dir/err" || wrong "one slot: said '$(cat "$dir/err")'"

# More ranks and threads than cores.
cores=$(nproc)
timeout -k 1 300 hypar train plan.json --steps 1 --threads "$cores" 2>"$dir/err" >"$dir/out" || wrong "more threads than cores"
grep -q "^hypar: note: 2 ranks of $cores thread.* on $cores core.*: they took turns$" "$dir/err" || wrong "threads: said '$(cat "$dir/err")'"

# Without a library that training alone loads: one that is no library comes first.
broken() { # MPI or BLAS: prints the name of the library that is in the way
    name=$(sed -n "s/^HYPAR_$1_LIBRARY:STRING=//p" "$BUILD/CMakeCache.txt")
    case $name in '' | */*) return 1 ;; esac
    mkdir -p "broken-$1" && : >"broken-$1/$name" && echo "$(pwd)/broken-$1/$name: file too short"
}
if why=$(broken MPI); then
    fails 4 "MPI cannot be loaded: $why" env LD_LIBRARY_PATH="$(pwd)/broken-MPI" hypar train plan.json
    (export LD_LIBRARY_PATH="$(pwd)/broken-MPI" && run plan.json --in-process) || wrong "in-process without MPI"
fi
if why=$(broken BLAS); then
    fails 4 "OpenBLAS cannot be loaded: $why; --kernels reference does without it" \
        env LD_LIBRARY_PATH="$(pwd)/broken-BLAS" hypar train plan.json
    (export LD_LIBRARY_PATH="$(pwd)/broken-BLAS" && run plan.json --kernels reference) ||
        wrong "reference kernels without OpenBLAS"
fi

# A signal before the first step: the command has read a part of its plan, more than a pipe holds, and waits for the rest.
mkfifo in
hypar train - --in-process --steps 3 -q <in >/dev/null 2>"$dir/err" &
pid=$!
exec 3>in
head -n 2 plan.json >&3
head -c 200000 /dev/zero | tr '\0' ' ' >&3
kill -USR1 $pid
tail -n +3 plan.json >&3
exec 3>&-
wait $pid
rc=$?
[ $rc = 5 ] || wrong "a signal before the first step: exit code $rc, expected 5: $(cat "$dir/err")"

# Signals. A run that would take long, in the background; its first steps are awaited.
begin() { # COMMAND...
    rm -f c "$dir/out"
    "$@" --steps 1000000 --checkpoint c --json >"$dir/out" 2>"$dir/err" &
    pid=$!
    for try in $(seq 2000); do
        grep -qs '"step": 3,' "$dir/out" && return
        sleep 0.1
    done
    wrong "has not begun: $*: $(cat "$dir/err")"
}
await() { # WHAT: sets rc; within 200 s
    for try in $(seq 2000); do
        kill -0 $pid 2>/dev/null || break
        sleep 0.1
    done
    kill -KILL $pid 2>/dev/null && wrong "$1: did not end"
    wait $pid
    rc=$?
}
gone() { # WHAT PROCESS...: within 200 s; a zombie is
    what=$1
    shift
    for process in "$@"; do
        for try in $(seq 2000); do
            grep -qs '^State:[[:space:]]*[A-Y]' "/proc/$process/status" || continue 2
            sleep 0.1
        done
        wrong "$what: process $process is still there"
        kill -KILL "$process"
    done
}
ends() { # EXIT-CODE WHAT LINE
    await "$2"
    [ $rc = "$1" ] || wrong "$2: exit code $rc, expected $1: $(cat "$dir/err")"
    grep -q "^hypar: $3" "$dir/err" || wrong "$2: said '$(cat "$dir/err")'"
    [ "$(grep -c ^hypar "$dir/err")" = 1 ] || wrong "$2: said more: '$(cat "$dir/err")'"
    nothing_left "$2"
}
stops() { # WHAT
    ends 5 "$1" 'note: interrupted: stopped after step [0-9]* of 1000000; to go on: --resume c$'
    tail -n 1 "$dir/out" | grep -q '"stopped": true' || wrong "$1: the summary does not say so"
    done=$(tail -n 1 "$dir/out" | sed 's/.*"steps": \([0-9]*\),.*/\1/')
    run plan.json --resume c --steps $((done + 1)) || wrong "$1: checkpoint"
}
hands_on() { # whether mpirun, started by hand, hands SIGUSR1 to its ranks
    [ "$OMPI_MCA_plm" != isolated ] || { echo "not tried: SIGUSR1 to mpirun, which hands no signal on here" && false; }
}
begin hypar train plan.json
kill -TERM $pid
stops "SIGTERM to the launcher"
[ "$(wc -l <"$dir/err")" = 1 ] || wrong "SIGTERM to the launcher: mpirun said more: '$(cat "$dir/err")'"
if full_length; then
    begin env OMPI_MCA_plm=isolated hypar train plan.json
    kill -TERM $pid
    stops "SIGTERM where mpirun hands no signal on"
fi
begin env OMPI_MCA_plm=isolated hypar train plan.json
kill -TERM $pid
sleep 0.1
kill -TERM $pid
await "SIGTERM twice where mpirun hands no signal on"
nothing_left "SIGTERM twice where mpirun hands no signal on"
if full_length; then
    begin hypar train plan.json -q
    kill -USR1 $pid
    await "SIGUSR1 to the launcher, quiet"
    [ $rc = 5 ] && [ ! -s "$dir/err" ] || wrong "SIGUSR1 to the launcher, quiet: exit code $rc, said '$(cat "$dir/err")'"
    begin env --default-signal=INT hypar train plan.json
    kill -INT $pid
    stops "SIGINT to the launcher"
fi
begin hypar train plan.json
kill -TERM "$(rank "$(pgrep -P $pid)" 1)"
stops "SIGTERM to rank 1"
begin hypar train plan.json --in-process
kill -TERM $pid
stops "SIGTERM to a run in one process"
if full_length && hands_on; then
    begin $mpi -n 2 hypar train plan.json
    kill -USR1 $pid
    stops "SIGUSR1 to mpirun"
fi
begin $mpi -n 2 hypar train plan.json
kill -TERM "$(rank $pid 0)"
stops "SIGTERM to rank 0 under mpirun"
begin hypar train plan.json
kill -KILL "$(rank "$(pgrep -P $pid)" 1)"
ends 4 "SIGKILL of rank 1" "rank 1 on $(uname -n | cut -d. -f1) died: Killed$"
if full_length; then
    begin hypar train plan.json --every 1
    kill -KILL "$(rank "$(pgrep -P $pid)" 0)"
    ends 4 "SIGKILL of rank 0" "rank 0 on $(uname -n | cut -d. -f1) died: Killed$"
fi
begin $mpi -n 2 hypar train plan.json --every 1
kill -KILL "$(rank $pid 0)"
await "SIGKILL of rank 0 under mpirun"
nothing_left "SIGKILL of rank 0 under mpirun"
begin hypar train plan.json
mpirun=$(pgrep -P $pid)
ranks=$(pgrep -P "$mpirun")
kill -KILL "$mpirun"
ends 4 "SIGKILL of mpirun" 'mpirun died: Killed$'
gone "SIGKILL of mpirun" $ranks
begin hypar train lenet5 --batch 8 --ranks 2 --planner dp
mpirun=$(pgrep -P $pid)
ranks=$(pgrep -P "$mpirun")
kill -KILL $pid
await "SIGKILL of the launcher"
gone "SIGKILL of the launcher" "$mpirun" $ranks
nothing_left "SIGKILL of the launcher"

# A rank that is stopped: the others tell which one they wait for, again and again (run/stall tests
# who tells and who does not).
hypar plan lenet5 --on local:3 --batch 9 --planner dp -q -o three.json || exit 1
waits() { # NUMBER MPIRUN WHAT
    line="^hypar: waiting for rank $1 on $(uname -n): no message for"
    stopped=$(rank "$2" "$1")
    kill -STOP "$stopped"
    for try in $(seq 2000); do
        grep -q "$line 2 s$" "$dir/err" && break
        sleep 0.1
    done
    kill -CONT "$stopped"
    kill -USR1 $pid
    await "$3"
    [ $rc = 5 ] || wrong "$3: exit code $rc: $(cat "$dir/err")"
    grep -q "$line 1 s$" "$dir/err" && grep -q "$line 2 s$" "$dir/err" ||
        wrong "$3: said '$(cat "$dir/err")'"
}
begin hypar train three.json -q --wait-note 1s
waits 1 "$(pgrep -P $pid)" "rank 1 is stopped"
if hands_on; then
    begin $mpi -n 3 hypar train three.json -q --wait-note 1s
    waits 0 $pid "rank 0 is stopped, under mpirun"
fi

# A second signal ends it at once; one that comes before the first step is not lost.
begin hypar train lenet5 --batch 8 --ranks 2 --planner dp
mpirun=$(pgrep -P $pid)
kill -STOP "$(rank "$mpirun" 1)"
kill -TERM $pid
sleep 0.3
kill -TERM $pid
await "two signals"
[ $rc = 143 ] || wrong "two signals: exit code $rc, expected 143: $(cat "$dir/err")"
nothing_left "two signals"
for tenth in 0 1 2 3 4 5 6; do
    hypar train lenet5 --batch 8 --ranks 2 --planner dp --steps 1000000 >"$dir/out" 2>"$dir/err" &
    pid=$!
    sleep 0.$tenth
    kill -TERM $pid
    await "a signal after 0.$tenth s"
    [ $rc = 5 ] || [ $rc = 143 ] || wrong "a signal after 0.$tenth s: exit $rc: $(cat "$dir/err")"
    nothing_left "a signal after 0.$tenth s"
done
cd "$root" || exit 1
exit $fail
