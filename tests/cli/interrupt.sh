#!/bin/sh
# interrupt.sh - one SIGINT or SIGTERM ends a search soon, with the best plan so far if it has
# one; a second one ends the command.
. tests/length.sh
command -v timeout >/dev/null || exit 77
dir=$(mktemp -d) && trap 'rm -rf "$dir"' EXIT
fail=0
wrong() {
    echo "wrong: $*"
    sed 's/^/    /' "$dir/err"
    fail=1
}

# A command that would run for long gets a signal after a second, later under a sanitizer. If the
# command does not end within a minute (machines may be busy) it is killed: 137.
case $SANITIZE in '' | OFF) after=1 ;; *) after=10 ;; esac
stop() { # EXIT-CODE SIGNAL COMMAND...
    want=$1 signal=$2
    shift 2
    timeout --preserve-status -s "$signal" -k $((60 * after)) $after "$@" >"$dir/out" 2>"$dir/err"
    rc=$?
    [ $rc = "$want" ] || wrong "exit code $rc, expected $want: $*"
    [ "$(grep -c interrupted "$dir/err")" = 1 ] || wrong "expected one line about it: $*"
}
stop_plan() { # SIGNAL OPTIONS...: there is a plan, whole, and nothing beside it
    rm -f "$dir/plan"
    stop 0 "$@" -o "$dir/plan"
    hypar check "$dir/plan" >/dev/null 2>"$dir/err" || wrong "no good plan: $*"
    [ -z "$(find "$dir" -name '*.part*')" ] || wrong "a file was left behind: $*"
}

many=1000000000000
stop_plan INT hypar plan alexnet --on cluster:1x4 -p flexflow --proposals $many --json
grep -q '"interrupted": true' "$dir/out" || wrong "JSON does not say so"
stop_plan TERM hypar plan alexnet --on cluster:1x4 -p flexflow --seed 3 --proposals $many
n=$(sed -n 's/.*--proposals \([0-9]*\).*/\1/p' "$dir/out" | head -1)
hypar plan alexnet --on cluster:1x4 -p flexflow --seed 3 --proposals "$n" -o "$dir/again" -q
cmp -s "$dir/plan" "$dir/again" || wrong "--proposals $n does not repeat it"
! full_length || stop_plan TERM hypar plan resnet50 --on cluster:4x4 --proposals $many
stop_plan TERM hypar plan alexnet --on full:2 -p exhaustive
grep -q 'no aligned plan that divides what' "$dir/out" && wrong "a part of it proves nothing"
! full_length || stop_plan TERM hypar plan resnet152 --on htree:1024 -p accpar --joint

# A large plan is found at once, and the simulation of a part of it, which takes long, ends.
stop_plan INT hypar plan gpt2-xl --on mesh:16x16,memory=1TB --batch 16384 --micro-batches 64 -p owt
grep -q 'not simulated: interrupted' "$dir/out" || wrong "the step is said to be simulated"

# Nothing to give yet; on a fast machine it may have had the time.
timeout --preserve-status -s INT -k 60 1 hypar plan resnet152 --on cluster:128x8 -p pipedream \
    -o "$dir/none" >"$dir/out" 2>"$dir/err"
rc=$?
[ $rc = 1 ] && [ -e "$dir/none" ] && wrong "a plan of a search that has none"
[ $rc = 1 ] || [ -e "$dir/none" ] || wrong "exit code $rc without a plan"

# A plan that does not fit is no answer to a search that has not ended.
stop 1 INT hypar plan resnet152 --on htree:128,memory=100MB -p accpar --joint
grep -q 'the plan so far does not fit: device' "$dir/err" || wrong "why it is none"

# What was done by then.
stop 0 INT hypar compare alexnet --on cluster:1x4 -p dp,flexflow,owt --proposals $many --json
grep -q '"error": "interrupted"' "$dir/out" || wrong "compare: the rest has no figures"
tr -s '\n ' ' ' <"$dir/err" | # however it is broken into lines
    grep -q ': 2 of 3 rows were reached; the plan of flexflow is its best so far $' ||
    wrong "compare: how far it came"
stop 0 INT hypar explore resnet152 --on htree:1024 -p accpar --joint --devices 4,1024 --json
grep -q '"machine": "htree:4' "$dir/out" || wrong "explore: the first machine was done"
grep -q '"interrupted": true' "$dir/out" || wrong "explore: JSON does not say so"
stop 0 INT hypar explore resnet152 --on cluster:1x8,device=a100 --devices 1,512,1024 --batch 16..65536 \
    -p hybrid --json
grep -q '"devices": 1, "batch": 16, "verdict": "fits"' "$dir/out" || wrong "the first was done"
grep -q '"devices": 1024, "batch": 65536, "verdict": "not tried"' "$dir/out" || wrong "not the last"
grep -q '"interrupted": true' "$dir/out" || wrong "explore: JSON of plans does not say so"

# A budget ends all planners of auto, and what they have found by then is told.
budget=$((3 * after))s
full_length || budget=$((2 * after))s
large='--on ring:64,device=a100,bandwidth=20GB/s --batch 1024 --precision bf16 --planner auto'
hypar explore resnet50 $large --budget $budget --json >"$dir/out" 2>"$dir/err" ||
    wrong "explore: no plan in $budget"
grep -q '"verdict": "fits".*"interrupted": true' "$dir/out" || wrong "explore: the best so far"
grep -q 'out of time: 0 of 1 points were searched to the end' "$dir/err" || wrong "explore: why"
(ulimit -t $((200 * after)) && exec timeout $((100 * after)) hypar plan resnet50 $large --budget $budget --json) >"$dir/out" 2>"$dir/err" ||
    wrong "plan: no plan, or not in time"
grep -q "flexflow: not tried, there was no time left" "$dir/out" ||
    wrong "plan: what was left out"

# The first ends the search, and the plan waits for somebody to read the pipe; the second ends it.
# Not under the thread sanitizer, which keeps a signal back until the pipe is open.
[ "$SANITIZE" != thread ] || exit $fail
mkfifo "$dir/pipe"
hypar plan alexnet --on cluster:1x4 -p flexflow --proposals $many -o "$dir/pipe" 2>"$dir/err" &
pid=$!
sleep 1
kill -TERM $pid
sleep 2
kill -TERM $pid || wrong "one signal was enough"
wait $pid
rc=$?
[ $rc = 143 ] || wrong "exit code $rc after two signals, expected 143"
exit $fail
