#!/bin/sh
# fuzz.sh BUILD SECONDS - run every fuzz target; finds stay in BUILD/findings, new inputs in BUILD/corpus.
build=$1 seconds=$2 fail=0
cd "$(dirname "$0")/.." || exit 2
for source in tests/fuzz/fuzz_*.c; do
    target=$(basename "$source" .c)
    name=${target#fuzz_}
    mkdir -p "$build/corpus/$name" "$build/findings"
    echo "fuzz: $name, $seconds s"
    "$build/tests/$target" -max_total_time="$seconds" -timeout=10 -rss_limit_mb=4096 -verbosity=0 \
        -print_final_stats=1 -artifact_prefix="$build/findings/$name-" \
        "$build/corpus/$name" "tests/fuzz/corpus/$name" || fail=1
done
[ $fail = 0 ] || echo "fuzz: failing inputs are in $build/findings"
exit $fail
