#!/bin/sh
# bad_inputs.sh FILE.tsv - every row is a command line that must fail: exit code, a part of the
# message, the command (for sh; $TMP is an empty folder), separated by tabs. Each must leave
# standard output empty and print exactly one line, which starts with "hypar: ".
sh tests/cli/current.sh || exit 2
table=$1
dir=$(mktemp -d) && trap 'rm -rf "$dir"' EXIT
TMP=$dir/tmp && export TMP
tab=$(printf '\t')
rows=0 bad=0
while IFS="$tab" read -r want part command; do
    case $want in '' | '#'*) continue ;; esac
    rows=$((rows + 1))
    if [ -z "$command" ]; then # sh would run nothing, and call it a success
        bad=$((bad + 1))
        echo "$table: expected three columns: $want $part"
        continue
    fi
    rm -rf "$TMP" && mkdir "$TMP"
    (ulimit -t 60 && exec timeout 600 sh -c "$command") </dev/null >"$dir/out" 2>"$dir/err"
    rc=$?
    why=
    [ "$rc" = "$want" ] || why="exit code $rc, expected $want"
    [ ! -s "$dir/out" ] || why="$why; standard output is not empty"
    [ "$(wc -l <"$dir/err")" = 1 ] || why="$why; expected one line on standard error"
    grep -q '^hypar: ' "$dir/err" || why="$why; the line does not start with 'hypar: '"
    grep -qF -- "$part" "$dir/err" || why="$why; the message lacks '$part'"
    if [ -n "$why" ]; then
        bad=$((bad + 1))
        printf '%s\n    %s\n' "$command" "${why#; }"
        head -n 5 "$dir/err" | sed 's/^/    | /'
    fi
done <"$table"
echo "$rows bad inputs, $bad treated wrongly"
[ $bad = 0 ] && [ $rows -gt 0 ]
