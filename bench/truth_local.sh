#!/bin/sh
# truth_local.sh [BUILD [RANKS]] - what is predicted for this machine, beside what happens.
#
# Profiles each model on local:RANKS (build, one for each core), then trains it by each planner:
# predicted step, median of 20 steps, error; and whether the order of planners was predicted
# wherever measured medians differ by more than 10 %. Needs the build and MPI, nothing else; to
# be run on a machine that does nothing else.
#
# PAIRS names a file of lines "MODEL BATCH PLANNER..." to be used instead of those below.
build=${1:-build}
ranks=${2:-$(nproc)}
hypar=$build/hypar
steps=${STEPS:-20}
dir=$(mktemp -d) && trap 'rm -rf "$dir"' EXIT
export XDG_CACHE_HOME="$dir/cache" LC_ALL=C NO_COLOR=1

# Batches grow with the ranks, so that each has some of it.
pairs() {
    if [ -n "$PAIRS" ]; then
        cat "$PAIRS"
        return
    fi
    cat <<EOF
lenet5 $((32 * ranks)) dp mp optcnn gpipe
cifar-c $((16 * ranks)) dp owt 1f1b
mlp:784-2048-2048-10 $((16 * ranks)) dp mp pipedream
vgg11:image=32,classes=10 $((4 * ranks)) dp owt
resnet18:image=32,classes=10 $((4 * ranks)) dp gpipe
bert:layers=2,hidden=256,heads=16,ffn=1024,seq=64,vocab=1024 $((4 * ranks)) dp 1f1b
gpt:layers=2,hidden=256,heads=16,seq=64,vocab=1024 $((4 * ranks)) dp mp
EOF
}

# MODEL PLANNER BATCH -> "predicted measured fastest", in seconds
step() {
    "$hypar" train "$1" --ranks "$ranks" --planner "$2" --batch "$3" --steps $((steps + 1)) \
        -q --json >"$dir/out" 2>"$dir/err" || return 1
    predicted=$(sed -n 's/.*"predicted": *{ *"step_s": *\([0-9.e-]*\).*/\1/p' "$dir/out")
    measured=$(grep -o '"step_s": *[0-9.e-]*' "$dir/out" | head -n 1 | sed 's/.*: *//')
    fastest=$(sed -n '2,$s/^{"step": .*"seconds": \([0-9.e-]*\)}.*/\1/p' "$dir/out" | sort -g |
        head -n 1)
    echo "$predicted $measured ${fastest:-$measured}"
}

echo "$(uname -m), $(nproc) cores, $ranks ranks; median of $steps steps, in ms; load before: $(
    cut -d ' ' -f 1 /proc/loadavg)"
printf '%-62s %-10s %10s %10s %7s %10s\n' model planner predicted measured error fastest
pairs | while read -r model batch planners; do
    if ! "$hypar" profile "$model" --on "local:$ranks" --batch "$batch" \
        --planner "$(echo "$planners" | tr ' ' ,)" -q >/dev/null 2>"$dir/err"; then
        echo "$model: not profiled: $(tail -n 1 "$dir/err")"
        continue
    fi
    for planner in $planners; do
        if times=$(step "$model" "$planner" "$batch"); then
            echo "$model $planner $times" | tee -a "$dir/all" | awk '{
                printf "%-62s %-10s %10.2f %10.2f %+6.1f %% %10.2f\n", $1, $2, 1e3 * $3,
                    1e3 * $4, 100 * ($3 / $4 - 1), 1e3 * $5 }'
        else
            echo "$model $planner: not run: $(tail -n 1 "$dir/err")"
        fi
    done
done

awk -v within="$([ "$ranks" -gt 2 ] && echo 20 || echo 15)" '
function away(x) { return x < 0 ? -x : x }
{
    n++
    error[n] = 100 * away($3 / $4 - 1)
    inside += error[n] <= within
    model[n] = $1; planner[n] = $2; predicted[n] = $3; measured[n] = $4
}
END {
    for (i = 1; i <= n; i++)
        for (k = i + 1; k <= n; k++) {
            if (error[k] < error[i]) { t = error[i]; error[i] = error[k]; error[k] = t }
        }
    for (i = 1; i <= n; i++)
        for (k = i + 1; k <= n; k++) {
            if (model[i] != model[k] || (measured[i] < 1.1 * measured[k] && measured[k] < 1.1 * measured[i]))
                continue
            orders++
            if ((measured[i] < measured[k]) == (predicted[i] < predicted[k])) right++
            else print "order: " model[i] ": " planner[i] " and " planner[k] " the other way round"
        }
    printf "%d of %d pairs within %d %%; median error %.1f %%, worst %.1f %%; order right in %d of %d\n",
        inside, n, within, error[int((n + 1) / 2)], error[n], right, orders
}' "$dir/all"
