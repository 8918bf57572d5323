#!/bin/sh
# piper.sh PIPER [DNN_PARTITIONING] - plans of published profiles beside what their planners found.
# PIPER: a checkout of msr-fiddle/piper (its folder inputs/); DNN_PARTITIONING: one of msr-fiddle/dnn-partitioning.
# HYPAR: the program (build/hypar). "published" is what their programs print, DNN_PARTITIONING's without processors.
# Seconds for a sample of Piper's, milliseconds of the other's; `search`: how long that took, on one core.
hypar=${HYPAR:-build/hypar}
here=$(dirname "$0")
[ -d "$1/inputs" ] || {
    echo "usage: bench/piper.sh PIPER [DNN_PARTITIONING]; expected a folder with inputs/" >&2
    exit 2
}
work=$(mktemp -d) || exit 2
trap 'rm -rf "$work"' EXIT

# plan NAME MODEL MACHINE MEMORY PUBLISHED SCALE - one line of the table
plan() {
    "$hypar" plan "$2" --on "$3" --memory "$4" -p hybrid --json >"$work/found.json" || return
    awk -v name="$1" -v published="$5" -v scale="$6" '
        /"bottleneck_s"/ && !found { found = $2 + 0 }
        /"seconds"/ { seconds = $2 + 0 }
        /"exact"/ { exact = $2 ~ /true/ ? "  optimum" : "" }
        END { printf "%-34s %11.6g %11.6g %8.3f s%s\n", name, published, scale * found, seconds, exact }' "$work/found.json"
}

printf '%-34s %11s %11s %10s\n' profile published hypar search
while read -r model devices gib published; do
    plan "$model, $devices x $gib GiB" "$1/inputs/$model.json" "full:$devices,bandwidth=25GiB/s" "${gib}GiB" "$published" 1
done <<'TABLE'
bert32a100 8 8 0.165856
bert32a100 64 8 0.0202006
bert32a100 512 8 0.00256113
bert32a100 8 80 0.122007
bert32a100 64 80 0.0156502
bert32a100 512 80 0.00227252
resnet 16 4 35.3334
resnet 64 2 11.3338
TABLE
[ -n "$2" ] || exit 0
while read -r model devices published; do
    python3 "$here/dnn_partitioning.py" "$2/throughput-inputs/$model.json" >"$work/graph.json" || continue
    plan "$model" "$work/graph.json" "full:$devices,bandwidth=1GB/s" 17185374208 "$published" 1000
done <<'TABLE'
LayerGraphs/bert24_inference 6 17.7899
LayerGraphs/bert24_training 6 41.7458
LayerGraphs/resnet50_inference 6 34.2229
LayerGraphs/resnet50_training 6 80.4549
LayerGraphs/gnmt_inference 6 32.9107
LayerGraphs/gnmt_training 6 107.004
OperatorGraphs/bert_l-3_inference 3 27.9186
OperatorGraphs/bert_l-6_inference 3 33.9891
OperatorGraphs/bert_l-12_inference 6 147.478
OperatorGraphs/resnet50_inference 6 128.074
TABLE
