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
for program in bench_hypar bench_sim bench_flexflow; do
    "$BUILD/$program" quikc >/dev/null 2>&1
    [ $? = 2 ] || { echo "$program takes any word" && fail=1; }
done
"$BUILD/bench_hypar" --svg "$dir/figures" quick >"$dir/out" || exit 1
grep -w nan "$dir/out" && echo "bench_hypar: a figure that there is not, expected -" && fail=1
for figure in "$dir"/figures/*.svg; do
    ticks=$(grep -c 'text-anchor="middle"' "$figure")
    [ "$ticks" -ge 4 ] || { echo "$(basename "$figure"): $ticks numbers on its scale" && fail=1; }
done
grep -q '>0.0517<' "$dir/figures/hypar-figure-8.svg" || { echo "figure 8 has no values" && fail=1; }
exit $fail
