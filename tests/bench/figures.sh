#!/bin/sh
# What the programs of bench/ take: no other options or words than they know; and a figure as a picture,
# from which values can be read.
dir=$(mktemp -d) && trap 'rm -rf "$dir"' EXIT
fail=0
for program in "$BUILD"/bench_*; do
    "$program" --unknown >/dev/null 2>"$dir/err"
    rc=$?
    if [ $rc != 2 ] || [ "$(wc -l <"$dir/err")" != 1 ]; then
        echo "$program --unknown: exit code $rc, and prints" && cat "$dir/err"
        fail=1
    fi
done
for program in bench_hypar bench_optcnn bench_flexflow bench_pipedream; do
    "$BUILD/$program" --figure 'No such' >/dev/null 2>"$dir/err" && echo "$program makes any figure" && fail=1
    grep -q "no figure of .* is called 'No such.*, expected '.*'" "$dir/err" || { echo "$program --figure 'No such': $(cat "$dir/err")" && fail=1; }
done
# One figure of each paper, as bars: the paper's beside ours. PipeDream's needs no profiles of its authors.
bars() { # FILE SERIES...
    file=$dir/one/$1 && shift
    for series in "$@"; do
        grep -q "<title>$series on " "$file" || { echo "$file: no bars of '$series'" && fail=1; }
    done
}
"$BUILD/bench_hypar" --svg "$dir/one" --figure 'Figure 6' >"$dir/out" || fail=1
bars hypar-figure-6.svg 'dp, paper' 'dp, ours' 'mp, paper' 'mp, ours' 'hypar, paper' 'hypar, ours'
grep -q '>Gmean<' "$dir/one/hypar-figure-6.svg" || { echo "Figure 6 of HyPar has no Gmean" && fail=1; }
grep -q 'mp of the VGGs the paper prints half of the bytes' "$dir/one/hypar-figure-6.svg" || { echo "Figure 6's picture does not tell its open question" && fail=1; }
grep -q 'mp of the VGGs .* half of the bytes' "$dir/out" || { echo "Figure 6 of HyPar does not tell its open question" && fail=1; }
# Figure 5 as maps: a cell for each layer and level, the paper's and ours, with a frame where they differ.
"$BUILD/bench_hypar" --svg "$dir/one" --figure 'Figure 5' >"$dir/out" || fail=1
for words in '>conv5_2<' '<title>vgg-a, conv5_2, H4: paper mp, ours dp<' 'stroke="#000".*<title>lenet-c, fc2, H3: paper dp, ours mp<'; do
    grep -q "$words" "$dir/one/hypar-figure-5.svg" || { echo "Figure 5's maps do not show: $words" && fail=1; }
done
[ "$(grep -c '<title>.*: paper .., ours ..<' "$dir/one/hypar-figure-5.svg")" = 800 ] || { echo "Figure 5 has other cells than 2 x 400" && fail=1; }
"$BUILD/bench_optcnn" --svg "$dir/one" --figure 'Figure 8' >"$dir/out" || fail=1
bars optcnn-figure-8.svg 'data parallel, paper' 'layer-wise, ours'
grep -q 'layer-wise: the paper keeps the linear layers on two GPUs' "$dir/one/optcnn-figure-8.svg" || { echo "Figure 8's picture does not tell why layer-wise differs" && fail=1; }
HYPAR_PIPEDREAM_PROFILES=$dir/none "$BUILD/bench_pipedream" --svg "$dir/one" --figure 'Table 1' >"$dir/out" || fail=1
bars pipedream-table-1.svg paper "the paper's plan, ours" "code's recurrence, ours" "paper's recurrence, ours"
grep -q '^profiles: none$' "$dir/out" || { echo "no line tells that there are no profiles" && cat "$dir/out" && fail=1; }
grep -q '^VGG-16 .* 5.28x .*vgg16, stand-in$' "$dir/out" || { echo "Table 1 has no stand-in for vgg16" && cat "$dir/out" && fail=1; }
grep -q "the zoo's gnmt8, minibatch 64 (ours, the profile does not say): .*, in the profile 89.4 ms" "$dir/out" || { echo "what stands in is not told" && fail=1; }
grep -q "the zoo's vgg16, minibatch 128 (the profile's)" "$dir/out" || { echo "a stand-in has another minibatch than the profile" && fail=1; }
grep -q "data parallel waits for sums of gradients" "$dir/out" || { echo "why Table 1 differs is not told" && fail=1; }
grep -q '^VGG-16 on 4x4 A, .*x for 5.28x: data parallel takes .* ms computing + .* ms sums of$' "$dir/out" || { echo "why VGG-16 gains less is not told" && cat "$dir/out" && fail=1; }
# The paper's own plan stands beside ours, in closed form and simulated; a row tells how its plan is read.
grep -q '^VGG-16 .*15-1 *5.28x *[0-9.]*x .*stand-in$' "$dir/out" || { echo "Table 1 has no time of the paper's plan" && cat "$dir/out" && fail=1; }
grep -q '^VGG-16 *4x4 A *15-1 *5.28x\( *[0-9.]* ms\)\{3\} *[0-9.]*x *[0-9.]* ms *[0-9.]*x ' "$dir/out" || { echo "the paper's plan is not simulated" && cat "$dir/out" && fail=1; }
grep -q "plan is read from its row: the replicas of the stages" "$dir/out" || { echo "how the paper's plan is read is not told" && fail=1; }
grep -q "4x1 is four stages with one replica each" "$dir/out" || { echo "how replicas are written is not told" && fail=1; }
bars pipedream-table-1-simulated.svg paper "with the paper's plan, ours" "with the plan found, ours"
for words in 'ours are predicted in closed form' 'logarithmic scale'; do
    grep -q "$words" "$dir/one/pipedream-table-1.svg" || { echo "Table 1's picture does not say: $words" && fail=1; }
done
# The folder of the profiles is told; it holds a small profile under the names of the published ones.
mkdir "$dir/profiles"
for name in vgg16 alexnet gnmt; do cp tests/data/pipedream/chain.txt "$dir/profiles/$name.txt"; done
HYPAR_PIPEDREAM_PROFILES=$dir/profiles "$BUILD/bench_pipedream" --figure 'Table 1' >"$dir/out" || fail=1
grep -q "^profiles: $dir/profiles$" "$dir/out" || { echo "the folder of the profiles is not told" && cat "$dir/out" && fail=1; }
# A search has so many proposals, whatever the machine does beside; the output and the picture say how many.
"$BUILD/bench_flexflow" --svg "$dir/one" --figure 'Figure 6 (no overlap)' 8 alexnet >"$dir/out" || fail=1
awk '$1 == "alexnet" && $(NF - 1) != 8 { exit 1 }' "$dir/out" || { echo "other proposals than asked for" && cat "$dir/out" && fail=1; }
for words in 'with 8 proposals' '^most ' '^tried ' '^Few were tried: in . of 2 rows 8 proposals'; do
    grep -q "$words" "$dir/out" || { echo "Figure 6 does not say: $words" && cat "$dir/out" && fail=1; }
done
for words in 'with 8 proposals a search' 'a device that sends or receives'; do
    grep -q "$words" "$dir/one/flexflow-figure-6-no-overlap.svg" || { echo "the picture does not say: $words" && fail=1; }
done
"$BUILD/bench_flexflow" --figure 'Figure 6 (servers of nodes)' 8 alexnet >"$dir/out" || fail=1
grep -q ', a device that sends or receives does not compute; gradients are summed by a server of nodes' "$dir/out" || { echo "a variant is told by another one that is not printed" && cat "$dir/out" && fail=1; }
"$BUILD/bench_flexflow" --figure 'Figure 6 (servers of nodes)' 8 alxnet >"$dir/out" 2>&1 && echo "bench_flexflow takes any network" && fail=1
[ "$(sed 's/, inception.*//' "$dir/out")" = "bench: FlexFlow has no network 'alxnet', expected alexnet" ] || { echo "an unknown network is not told:" && cat "$dir/out" && fail=1; }
[ "$(find "$dir/one" -type f | wc -l)" = 6 ] || { echo "other figures than asked for" && ls "$dir/one" && fail=1; }
for program in bench_hypar bench_sim bench_flexflow; do
    "$BUILD/$program" quikc >/dev/null 2>&1
    [ $? = 2 ] || { echo "$program takes any word" && fail=1; }
done
"$BUILD/bench_hypar" quick --csv "$dir/figures" --svg "$dir/figures" >"$dir/out" || exit 1
grep -w nan "$dir/out" && echo "bench_hypar: a figure that there is not, expected -" && fail=1
for figure in "$dir"/figures/*.svg; do
    case $figure in *-figure-5.svg | *-figure-9.svg | *-figure-10.svg) continue ;; esac # maps have no scale
    ticks=$(grep -c -E 'text-anchor="(middle|end)"[^>]*>[0-9.]+<' "$figure")
    [ "$ticks" -ge 4 ] || { echo "$(basename "$figure"): $ticks numbers on its scale" && fail=1; }
    [ -s "${figure%.svg}.csv" ] || { echo "$(basename "$figure"): no table beside it" && fail=1; }
done
grep -q '>16 accelerators, hypar<' "$dir/figures/hypar-figure-11.svg" || { echo "figure 11 has numbers without a noun" && fail=1; }
grep -q '>0.0517<' "$dir/figures/hypar-figure-8.svg" || { echo "figure 8 has no values" && fail=1; }
exit $fail
