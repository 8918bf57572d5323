#!/bin/sh
# held_out.sh - tests on held-out samples on several processes: those of --in-process bit by bit, and those of one rank within
# 1e-9 in fp64; the running statistics of the checkpoint, too.
. tests/mpi/common.sh
compare=$BUILD/tests/compare_checkpoints
data=examples/data/digits

train() { # ARGUMENTS...
    exact examples/models/digits.json --batch 50 --steps 2 --test-every 1 --data $data-train-x.npy,$data-train-y.npy \
        --test-data $data-test-x.npy,$data-test-y.npy "$@" 2>"$dir/err" || wrong "$*: $(tail -n 1 "$dir/err")"
}

tests() { # FILE
    sed -n 's/, "seconds.*//; /test_after/p' "$1"
}

test_losses() { # FILE
    sed -n '/test_after/s/.*"loss": \([^,]*\),.*/\1/p' "$1"
}

train --checkpoint "$dir/one" >"$dir/one.out"
test_losses "$dir/one.out" >"$dir/one.losses"
while read -r planner ranks length; do
    [ -z "$length" ] || full_length || continue
    train --planner "$planner" --ranks "$ranks" --checkpoint "$dir/mpi" </dev/null >"$dir/mpi.out"
    train --planner "$planner" --ranks "$ranks" --checkpoint "$dir/here" --in-process </dev/null >"$dir/here.out"
    tests "$dir/mpi.out" >"$dir/mpi.tests"
    [ -s "$dir/mpi.tests" ] || wrong "$planner on $ranks: no test"
    tests "$dir/here.out" | cmp - "$dir/mpi.tests" || wrong "$planner on $ranks: not as in one process"
    cmp "$dir/mpi" "$dir/here" || wrong "$planner on $ranks: not the same checkpoint as in one process"
    [ "$planner" = pipedream ] && continue # which delays updates
    test_losses "$dir/mpi.out" >"$dir/mpi.losses"
    losses=$(apart "$dir/mpi.losses" "$dir/one.losses")
    weights=$("$compare" "$dir/mpi" "$dir/one") || wrong "$planner on $ranks: checkpoints"
    above "$losses" 1e-9 && wrong "$planner on $ranks: losses differ by $losses"
    above "${weights%% *}" 1e-9 && wrong "$planner on $ranks: $weights"
    [ "$(figure accuracy "$dir/mpi.out")" = "$(figure accuracy "$dir/one.out")" ] ||
        wrong "$planner on $ranks: accuracy"
    echo "$planner on $ranks ranks: losses $losses, checkpoint $weights"
done <<'CASES'
dp 4
mp 3 full
pipedream 3
CASES
exit $fail
