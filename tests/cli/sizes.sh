#!/bin/sh
# sizes.sh FILE.tsv - every row is a command line that once took all memory or did not end: exit
# code, a part of what it says, the command (for sh), separated by tabs. Each has 60 seconds of
# processor time and 2.5 GB; what is refused (not 0) has ten seconds and one line. Rows whose exit code has a + take long
# and run at full length alone (tests/length.h).
sh tests/cli/current.sh || exit 2
. tests/length.sh
table=$1
dir=$(mktemp -d) && trap 'rm -rf "$dir"' EXIT
TMP=$dir && export TMP
tab=$(printf '\t')
limit=60 soon=10
if nm "$(command -v hypar)" 2>/dev/null | grep -q __asan_init; then
    limit=600 soon=100 # and no bound on addresses, of which the sanitizer takes terabytes
else
    ulimit -v 2500000
fi
rows=0 bad=0
while IFS="$tab" read -r want part command; do
    case $want in '' | '#'*) continue ;; *+) full_length || continue ;; esac
    want=${want%+}
    rows=$((rows + 1))
    seconds=$limit
    [ "$want" = 0 ] || seconds=$soon
    (ulimit -t $seconds && exec sh -c "$command") </dev/null >"$dir/out" 2>"$dir/err"
    rc=$?
    why=
    [ "$rc" = "$want" ] || why="exit code $rc, expected $want"
    grep -qF -- "$part" "$dir/out" "$dir/err" || why="$why; it does not say '$part'"
    [ "$want" = 0 ] || [ "$(wc -l <"$dir/err")" = 1 ] || why="$why; expected one line"
    if [ -n "$why" ]; then
        bad=$((bad + 1))
        printf '%s\n    %s\n' "$command" "${why#; }"
        head -n 5 "$dir/err" | sed 's/^/    | /'
    fi
done <"$table"
echo "$rows commands, $bad took too much or said something else"
[ $bad = 0 ] && [ $rows -gt 0 ]
