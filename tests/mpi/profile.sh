#!/bin/sh
# profile.sh - a profile of several ranks: calls of all of them, messages, in two rounds and not again,
# interrupted and gone on with; and training predicts with it.
. tests/mpi/common.sh
export XDG_CACHE_HOME="$dir/cache"
file=$dir/cache/hypar/local-2.json

profile() { # ARGUMENTS...
    hypar profile mlp:20-16-10 --on local:2 --batch 8 --micro-batches 2 --steps 8 "$@"
}

profile --planner dp,gpipe >"$dir/first" || wrong "profile failed"
[ "$(grep -c '^[a-z0-9]* *8 steps' "$dir/first")" = 4 ] || wrong "$(cat "$dir/first")"
for of in message 'message alone' sum row 'sum over ranks' 'gather over ranks' 'update sgd fp32'; do
    grep -q "\"of\": \"$of\"" "$file" || wrong "no curve of $of"
done
cp "$file" "$dir/before"
profile --planner dp,gpipe >"$dir/again" || wrong "profile failed again"
grep -q steps "$dir/again" && wrong "measured twice: $(cat "$dir/again")"
cmp -s "$file" "$dir/before" || wrong "nothing was measured, and the file is another"
profile --planner mp -q || wrong "profile of another planner failed"
[ "$(wc -l <"$file")" -gt "$(wc -l <"$dir/before")" ] || wrong "nothing was added"

hypar train mlp:20-16-10 --ranks 2 --batch 8 --planner dp --steps 3 >"$dir/train" 2>&1 ||
    wrong "train failed"
grep -q 'not calibrated' "$dir/train" && wrong "train does not use the profile"
hypar train mlp:20-16-10 --ranks 2 --batch 8 --planner dp --steps 3 --profile "$dir/none" \
    >"$dir/train" 2>&1 && wrong "a profile that is not there is none"

hypar profile --links --on local:2 -o "$dir/links.json" >"$dir/out" || wrong "--links failed"
grep -q '"passes": \[$' "$dir/links.json" && grep -q '"kind"' "$dir/links.json" &&
    wrong "--links measured calls"

# Ctrl-C: what was measured is kept. A busy machine may need longer for the first convolution.
rm -f "$file"
for seconds in 4 20 100; do
    timeout -s INT 200 hypar profile lenet5 --on local:2 --batch 32 --steps 1000000 --planner dp \
        >"$dir/out" 2>&1 &
    case $SANITIZE in '' | OFF) sleep $seconds ;; *) sleep $((seconds + 56)) ;; esac
    kill -INT $! 2>/dev/null
    wait
    grep -q '"kind": "conv"' "$file" && break
    rm -f "$file"
done
grep -q '"kind": "conv"' "$file" || wrong "an interrupted profile has nothing: $(cat "$dir/out")"
[ $fail = 0 ] && echo "profiles are measured once, and used"
exit $fail
