#!/bin/sh
# docs/terms.md has every word that stands above a column: of the columns of src/report (table.h), and of what the
# command prints bold on a terminal, where each command below is run.
command -v script >/dev/null || { echo "skipped: no script (Debian: bsdutils)"; exit 77; }
dir=$(mktemp -d) && trap 'rm -rf "$dir"' EXIT
XDG_CACHE_HOME=$dir/cache && export XDG_CACHE_HOME
XDG_CONFIG_HOME=$dir/config XDG_CONFIG_DIRS=$dir/config && export XDG_CONFIG_HOME XDG_CONFIG_DIRS # no files of this site
plan() { # FILE ARGUMENT...: a plan that others look at
    file=$1 && shift
    hypar plan "$@" -q -o "$dir/$file.json" || exit 1
}
plan pipeline gpt2 --on cluster:1x4,device=a100 --planner 1f1b --stages 4 --micro-batches 8 --precision bf16
plan delayed vgg16 --on cluster:1x4 --planner pipedream
plan split alexnet --on cluster:1x4 --planner optcnn
plan other alexnet --on cluster:1x4 --planner dp
plan experts gpt2 --on full:2,device=a100 --planner 3d --for megatron
cat >"$dir/measured.csv" <<ROWS
op,shape,pass,seconds,precision
linear,n=8192 c=768 k=2304,y,4.757e-05,bf16
linear,n=8192 c=768 k=2304,dw,4.197e-05,bf16
linear,n=1024 c=1024 k=1024,y,9.1e-05,bf16
ROWS
while read -r arguments; do
    TERM=xterm script -qec "stty cols 400; hypar $arguments" /dev/null </dev/null >"$dir/out" ||
        { echo "hypar $arguments failed" && cat "$dir/out" && exit 1; }
    grep -ao "$(printf '\033')\[1m[^$(printf '\033')]*" "$dir/out" | sed 's/^.\[1m//' | sed 's/   */\n/g'
done >"$dir/headings" <<COMMANDS
plan lenet-c --on htree:4 --planner hypar
plan vgg16 --on cluster:1x4 --planner pipedream
plan alexnet --on cluster:1x4 --planner optcnn
compare lenet-c --on htree:4 --planner dp,hypar
compare $dir/split.json $dir/other.json
simulate $dir/pipeline.json
simulate $dir/delayed.json
simulate $dir/pipeline.json --fits
explain $dir/pipeline.json
explain $dir/split.json
explore lenet-c --on htree:4 --levels H1
explore vgg-e --on htree:4 --devices 1..4
explore lenet5 --on full:2 --batch 64,128 --planner dp
lower $dir/split.json
check $dir/split.json --detail
import lenet5
machines
machines torus:4x4
models
planners
ops
ops conv
models bert-base
train mlp:16-8-4 --batch 8 --ranks 2 --planner dp --in-process --kernels reference --steps 2
fit $dir/measured.csv --device h200
plan --start $dir/split.json --seed 2 --proposals 20
export $dir/experts.json --to megatron
COMMANDS
sed -n 's/^| \([^|]*\) |.*/\1/p' docs/terms.md | sed 's/; /\n/g' | tr -d '`' | sort -u >"$dir/terms"
sed -nE 's/^ *\{ "([^"]+)", (NULL|"[^"]*"), AS_.*/\1/p' src/report/*/*.c src/report/*.c >>"$dir/headings"
# .texts = "heading|>heading"
grep -ohE '\.texts = [^"]*"[^"]*"' src/report/*/*.c | sed 's/^[^"]*"//; s/"$//' | tr '|' '\n' | sed 's/^[>~]//; /%/d' >>"$dir/headings"
sed 's/^ *//; s/ *$//; /^$/d' "$dir/headings" | sort -u >"$dir/used"
[ "$(wc -l <"$dir/used")" -gt 60 ] || { echo "too few headings:" && cat "$dir/used" && exit 1; }
missing=$(comm -23 "$dir/used" "$dir/terms")
[ -z "$missing" ] || { echo "docs/terms.md does not have:" && echo "$missing" && exit 1; }
