#!/bin/sh
# bind.sh - ranks that the command starts run on cores of their own, within those that it may use.
. tests/mpi/common.sh
command -v pgrep >/dev/null || { echo "skipped: no pgrep"; exit 77; }
command -v taskset >/dev/null || { echo "skipped: no taskset"; exit 77; }
hypar --version | grep -q '^hwloc: yes' || { echo "skipped: this build has no hwloc"; exit 77; }
allowed() { # PID: "0-3,7"
    sed -n 's/^Cpus_allowed_list:[[:space:]]*//p' "/proc/$1/status"
}
count() { # LIST: processors of it
    echo "$1" | tr ',' '\n' | awk -F- '{ n += NF == 2 ? $2 - $1 + 1 : 1 } END { print n }'
}
here=$(allowed $$)
first=$(echo "$here" | sed 's/[-,].*//')
cores=$(lscpu -p=CORE 2>/dev/null | grep -v "^#" | sort -u | wc -l)
[ "$(count "$here")" -ge 2 ] && [ "$cores" -ge 2 ] || { echo "skipped: one core"; exit 77; }

# Sets $bound: a line for each rank, sorted.
look() { # COMMAND...
    rm -f "$dir/out"
    "$@" --kernels reference --batch 8 --planner dp --steps 1000000 --json >"$dir/out" 2>"$dir/err" &
    pid=$!
    for try in $(seq 300); do
        grep -qs '"step": 2,' "$dir/out" && break
        sleep 0.1
    done
    bound=$(for rank in $(pgrep -P "$(pgrep -P $pid)"); do allowed "$rank"; done | sort)
    kill -TERM $pid
    wait $pid
    [ $? = 5 ] || wrong "$*: $(cat "$dir/err")"
}
took_turns() {
    grep -q 'they took turns' "$dir/err"
}
look hypar train lenet5 --ranks 2
[ "$(echo "$bound" | sort -u)" = "$here" ] || wrong "mpirun's variable says none: $bound"
unset OMPI_MCA_hwloc_base_binding_policy
look hypar train lenet5 --ranks 2
[ "$(echo "$bound" | sort -u | wc -l)" = 2 ] || wrong "two ranks: $bound"
took_turns && wrong "two ranks on two cores: $(cat "$dir/err")"
look hypar train lenet5 --ranks 2 --bind none
[ "$(echo "$bound" | sort -u)" = "$here" ] || wrong "--bind none: $bound"
look taskset -c "$first" hypar train lenet5 --ranks 2
[ "$(echo "$bound" | sort -u)" = "$first" ] || wrong "two ranks on one core: $bound"
took_turns || wrong "two ranks on one core: $(cat "$dir/err")"
look env OMPI_MCA_hwloc_base_binding_policy=core hypar train lenet5 --ranks 2
took_turns && wrong "two ranks that mpirun binds: $(cat "$dir/err")"
look hypar train lenet5 --ranks 2 --threads $((cores / 2 + 1))
[ "$(echo "$bound" | sort -u)" = "$here" ] || wrong "more threads than cores: $bound"
[ "$cores" -lt 4 ] || {
    look hypar train lenet5 --ranks 2 --threads 2
    [ "$(echo "$bound" | sort -u | wc -l)" = 2 ] || wrong "two ranks of two threads: $bound"
    for list in $bound; do
        [ "$(count "$list")" -ge 2 ] || wrong "two ranks of two threads: $bound"
    done
}
exit $fail
