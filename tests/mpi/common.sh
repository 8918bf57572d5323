# common.sh - what the tests of `hypar train` share; to be read by a script with `.`.
# A folder $dir of its own; the exit code 77 (skipped) where ranks cannot be started.
. tests/length.sh
hypar --version | grep -q '^mpi: yes' || { echo "skipped: this build has no MPI"; exit 77; }
command -v mpirun >/dev/null || { echo "skipped: mpirun is not installed"; exit 77; }
case $SANITIZE in
'' | OFF) ;;
thread | memory) echo "skipped: MPI is not instrumented" && exit 77 ;;
*) export ASAN_OPTIONS="detect_leaks=0:$ASAN_OPTIONS" ;; # those of MPI
esac
dir=$(mktemp -d) && trap 'rm -rf "$dir"' EXIT
trap 'exit 1' HUP INT TERM
export TMPDIR="$dir"
export OMPI_MCA_hwloc_base_binding_policy=none # tests at the same time would share cores
export OMPI_MCA_mpi_yield_when_idle=1 # a rank that waits leaves the core to the others
fail=0

wrong() { # TEXT...
    echo "wrong: $*"
    fail=1
}

# Training, small and exact.
exact() { # ARGUMENTS...
    hypar train --kernels reference --precision fp64 --json "$@"
}

losses() { # FILE
    sed -n 's/^{"step": .*"loss": \([^,]*\),.*/\1/p' "$1"
}

figure() { # KEY FILE: of the last line
    tail -n 1 "$2" | sed -n "s/.*\"$1\": \([^,}]*\).*/\1/p"
}

# The largest relative difference of two columns of numbers, or "unlike".
apart() { # FILE FILE
    paste "$1" "$2" | awk 'NF != 2 { bad = 1 }
        { d = ($1 - $2) / ($2 ? $2 : 1); if (d < 0) d = -d; if (d > m) m = d }
        END { if (bad || !NR) print "unlike"; else printf "%.3g\n", m }'
}

above() { # NUMBER LIMIT: is it, or no number?
    awk -v x="$1" -v most="$2" 'BEGIN { exit x ~ /^[0-9.e+-]+$/ && x + 0 <= most ? 1 : 0 }'
}

# The process of a rank that a mpirun of this host has started.
rank() { # MPIRUN NUMBER
    for process in $(pgrep -P "$1"); do
        tr '\0' '\n' 2>/dev/null <"/proc/$process/environ" | grep -qx "OMPI_COMM_WORLD_RANK=$2" && echo "$process"
    done
}
