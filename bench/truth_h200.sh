#!/bin/sh
# truth_h200.sh HYPAR [DEVICE] - operators and steps that were measured on an H200 (bench/h200/) beside what is predicted with
# DEVICE (h200), whose figures were fitted to some of the operators: errors of every third row, and of the others. ALL=1 prints
# each operator.
hypar=$1 device=${2:-h200}
here=$(cd "$(dirname "$0")" && pwd)
TMP=$(mktemp -d) || exit 4
trap 'rm -rf "$TMP"' EXIT

operators() {
    if [ ! -f "$here/h200/ops.csv" ]; then
        echo "skipped: no bench/h200/ops.csv"
        return
    fi
    if ! "$hypar" fit --help >/dev/null 2>&1; then
        echo "skipped: this hypar has no 'fit', which reads operators"
        return
    fi
    "$hypar" fit "$here/h200/ops.csv" --device "$device" --json -q >"$TMP/fit" || return
    sed -n 's/^ *{"file.*"row": "\([^"]*\)", "measured_s": \([^,]*\), "before_s": \([^,]*\),.*/\2 \3 \1/p' "$TMP/fit" >"$TMP/rows"
    for which in 'every third row' 'the others'; do
        echo "$which"
        awk -v third="$which" '(NR % 3 == 0) == (third == "every third row")' "$TMP/rows" |
            awk -v brief="$((1 - ${ALL:-0}))" -f "$here/errors.awk"
        echo
    done
    echo "fitted again without each fifth of the rows in turn, and asked for these"
    sed -n 's/^ *{"file.*"row": "\([^"]*\)", "measured_s": \([^,]*\),.*"held_out_s": \([^,]*\),.*/\2 \3 \1/p' "$TMP/fit" |
        awk -v brief=1 -f "$here/errors.awk"
    echo
    echo "by kind, and those more than 2 times off"
    for kind in $(cut -d' ' -f3 "$TMP/rows" | sort -u); do
        awk -v kind="$kind" '$3 == kind' "$TMP/rows" | awk -v brief=1 -f "$here/errors.awk" |
            sed -n "1s/^\([0-9]* rows\): \(.*\)/$kind	\1	\2/p"
    done | expand -t 16,26
    awk '$2 > 2 * $1 || $1 > 2 * $2' "$TMP/rows" >"$TMP/off"
    [ -s "$TMP/off" ] && sort -k3 "$TMP/off" | awk -f "$here/errors.awk" | sed '/^[0-9]* rows:/,$d'
}

# One device's step under a framework: its seconds and its joules. Without autocast, parameters are in bf16.
predict() { # MODEL BATCH FRAMEWORK
    model=$1 optimizer=adamw
    case $model in
    resnet*) optimizer=momentum ;;
    llama-1b) model=llama:layers=16,hidden=2048,heads=32,kv_heads=8,ffn=8192 ;;
    esac
    "$hypar" plan "$model" --batch "$2" --on "full:1,device=$device" --planner dp --precision bf16 --optimizer "$optimizer" \
        --as "$3" -q -o "$TMP/plan.json" 2>/dev/null || return
    "$hypar" simulate "$TMP/plan.json" --json -q |
        sed -n 's/^  "step_s": \([^,]*\),$/\1/p; s/.*"total_j": \([^ }]*\).*/\1/p' | paste -sd' '
}

steps() {
    if [ ! -f "$here/h200/steps.csv" ]; then
        echo "skipped: no bench/h200/steps.csv"
        return
    fi
    # model,batch,framework,precision,parameters,step_s,...
    sed 1d "$here/h200/steps.csv" | while IFS=, read -r model batch framework precision parameters step_s _; do
        members=
        [ "$parameters" = bf16 ] && members=,autocast=no
        predicted=$(predict "$model" "$batch" "${framework%-graph}$members" | cut -d' ' -f1)
        if [ -n "$predicted" ]; then
            echo "$step_s $predicted $model, batch $batch, $framework, $precision with $parameters parameters"
        else
            echo "$model, batch $batch: not predicted" >&2
        fi
    done >"$TMP/steps"
    awk -f "$here/errors.awk" "$TMP/steps"
}

# Steps that were repeated for seconds, with fp32 parameters: the last half of each run.
held() { # 1: seconds, 2: joules
    if [ ! -f "$here/h200/held.csv" ]; then
        echo "skipped: no bench/h200/held.csv"
        return
    fi
    # run,work,window_begin_s,window_end_s,calls,seconds,op_per_s,bytes_per_s,power_w,sm_mhz,joule; the last window of a run
    awk -F, '/^step-/ { if ($1 != run && run) print row; run = $1; row = $0 } END { print row }' "$here/h200/held.csv" |
        while IFS=, read -r run work _ end _ seconds _ _ _ _ joule; do
            name=${run#step-} framework=eager measured=$seconds
            case $name in *-compiled*) framework=compiled ;; esac
            how=${name##*-"$framework"} name=${name%%-"$framework"*}
            batch=${work#batch } batch=${batch%% *}
            predicted=$(predict "$name" "$batch" "$framework" | cut -d' ' -f"$1")
            [ "$1" = 2 ] && measured=$joule
            echo "$measured $predicted $name, batch $batch, $framework$how, held ${end%.*} s"
        done >"$TMP/held"
    awk -v unit="$([ "$1" = 2 ] && echo J || echo s)" -f "$here/errors.awk" "$TMP/held"
}

echo "Operators on an H200"
echo
operators
echo
echo "Steps on an H200"
echo
steps
echo
echo "Steps on an H200, held for seconds"
echo
held 1
echo
echo "Joules of these steps"
echo
held 2
