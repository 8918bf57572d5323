#!/bin/sh
# matrix.sh sample|full - networks and planners on several ranks, with reference kernels in fp64:
# MPI and one process give the same losses, to the last digit, and the same checkpoints; both are
# those of one rank within 1e-6 (pipedream's delayed updates are not). Some networks have their
# gradients clipped, but under pipedream.
# One table: the largest difference of a network under a planner. `full`: on each of
# $RANKS (1 to 8), and 20 steps of networks that are quick, one of those that are not: what goes
# wrong shows in the first loss, or in the weights after it. It takes hours of a core: $NETWORKS
# and $PLANNERS name those to run (all). `sample` has a sixth of its cells, of each planner some, in the short form of the
# tests (tests/length.h), two thirds at full length.
. tests/mpi/common.sh

wrong() { # after the table
    echo "wrong: $*" >>"$dir/wrong"
    fail=1
}

# A network, its batch, and planners that it is not asked for: batch norm sees micro-batches.
sample='lenet5 7
mlp:20-16-10 7
rnnlm:steps=3,layers=2,hidden=8,vocab=20 7
nmt:steps=2,layers=1,hidden=8,vocab=20 7
bert:layers=1,hidden=12,heads=3,ffn=20,seq=6,vocab=30 7
gpt:layers=2,hidden=16,heads=2,seq=5,vocab=30 7
llama:layers=1,hidden=16,heads=4,kv_heads=2,ffn=24,seq=6,vocab=30 7
vit-b-16:layers=2,hidden=16,heads=2,ffn=32,image=8,patch=4,classes=5 7'
planners=${PLANNERS:-dp mp owt hypar accpar optcnn flexflow gpipe 1f1b zb-h1 zb-h2 pipedream}
case $1 in
full)
    most=20
    networks="$(echo "$sample" | sed 's/7$/11/')
cifar-c 9
resnet18:image=32,classes=10 9 gpipe 1f1b zb-h1 zb-h2
inception-v3:image=75 9 gpipe 1f1b zb-h1 zb-h2"
    ;;
sample)
    most=3
    networks="$sample
cifar-c 3 dp mp owt gpipe zb-h1 zb-h2 flexflow optcnn pipedream"
    ;;
*) echo "usage: matrix.sh sample|full" >&2 && exit 2 ;;
esac

one_rank() { # MODEL BATCH
    exact "$1" --optimizer momentum $clip --batch "$2" --steps $steps --checkpoint "$dir/one" >"$dir/one.out" \
        2>"$dir/err" || wrong "$1: one rank: $(tail -n 1 "$dir/err")"
    losses "$dir/one.out" >"$dir/one.losses"
}

# Sets $worst to the largest difference from one rank, or to a word.
try() { # MODEL BATCH PLANNER RANKS
    case $3 in pipedream) norm= ;; *) norm=$clip ;; esac
    set -- "$1" --optimizer momentum $norm --batch "$2" --planner "$3" --ranks "$4" --steps $steps
    rm -f "$dir/a" "$dir/b"
    exact "$@" --in-process --checkpoint "$dir/a" >"$dir/a.out" 2>"$dir/err"
    rc=$?
    if [ $rc = 1 ] && ! [ -s "$dir/a.out" ]; then
        worst=- # no such plan
        return
    fi
    exact "$@" --checkpoint "$dir/b" >"$dir/b.out" 2>>"$dir/err" && [ $rc = 0 ] || {
        wrong "$*: $(tail -n 1 "$dir/err")"
        worst=failed
        return
    }
    losses "$dir/a.out" >"$dir/a.losses"
    losses "$dir/b.out" >"$dir/b.losses"
    cmp "$dir/a.losses" "$dir/b.losses" || wrong "$*: losses of MPI and of one process"
    cmp "$dir/a" "$dir/b" || wrong "$*: checkpoints of MPI and of one process"
    worst=same
    case " $* " in *' pipedream '*) return ;; esac
    worst=$(apart "$dir/a.losses" "$dir/one.losses")
    weights=$("$BUILD/tests/compare_checkpoints" "$dir/a" "$dir/one") || wrong "$*: checkpoints"
    above "${weights%% *}" 1e-6 && wrong "$*: weights differ by $weights"
    above "$worst" 1e-6 && wrong "$*: losses differ by $worst"
    worst=$(printf '%s\n' "$worst" "${weights%% *}" | sort -g | tail -n 1)
}

ranks_of() { # ROW COLUMN
    if [ "$mode" = full ]; then
        echo ${RANKS:-1 2 3 4 5 6 7 8}
    elif soak_length || { full_length && [ $((($1 + $2) % 2)) = 0 ]; } || { full_length && [ $(((2 * $1 + $2) % 3)) = 0 ]; } ||
        [ $(((5 * $1 + $2) % 6)) = 0 ]; then
        echo $((2 + ($1 + $2) % 3))
    fi
}

mode=$1
printf '%-12s' network
printf ' %9s' $planners
echo
n=0 row=0
echo "$networks" >"$dir/networks"
while read -r model batch without; do
    case " ${NETWORKS:-${model%%:*}} " in *" ${model%%:*} "*) ;; *) continue ;; esac
    printf '%-12s' "${model%%:*}"
    case $model in cifar-c) steps=3 ;; resnet* | inception*) steps=1 ;; *) steps=$most ;; esac
    case $model in lenet5 | gpt*) clip='--clip 0.1' ;; *) clip= ;; esac
    one_rank "$model" "$batch"
    column=0
    for planner in $planners; do
        cell=-
        case " $without " in *" $planner "*) ranks= ;; *) ranks=$(ranks_of $row $column) ;; esac
        for r in $ranks; do
            try "$model" "$batch" "$planner" "$r" </dev/null
            [ "$worst" = - ] || n=$((n + 1))
            [ "$cell" = failed ] || cell=$(printf '%s\n' "$cell" "$worst" | sort -g | tail -n 1)
        done
        printf ' %9s' "$cell"
        column=$((column + 1))
    done
    echo
    row=$((row + 1))
done <"$dir/networks"
echo "$n runs on several ranks"
[ $fail = 0 ] || cat "$dir/wrong"
exit $fail
