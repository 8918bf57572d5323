#!/bin/sh
# run.sh [--update] FILE.t... - run transcripts: '$ ' lines are commands, '> ' lines the exact
# output they must give (stdout and stderr together), '? N' a non-zero exit code, the rest is
# prose. Commands start in the repository's root; $TMP is an empty folder. --update rewrites.
# Commands of '$+ ' lines take long: they run at full length alone (tests/length.h), and no other may need them.
update=
if [ "$1" = --update ]; then update=1 && shift; fi
sh tests/cli/current.sh || exit 2
. tests/length.sh
dir=$(mktemp -d /tmp/hypar.XXXXXX) && trap 'rm -rf "$dir"' EXIT
pass=0 fail=0
# Open MPI, which `hypar train` loads, keeps blocks in modules that it has unloaded: no suppression can name them.
case $SANITIZE in
'' | OFF) ;;
*) ! grep -q 'hypar train' "$@" || { ASAN_OPTIONS="detect_leaks=0:$ASAN_OPTIONS" && export ASAN_OPTIONS; } ;;
esac
unset COLUMNS # lines are broken at 80 columns; names of files are as long everywhere
XDG_CACHE_HOME=$dir/cache && export XDG_CACHE_HOME # no profile of this machine
XDG_CONFIG_HOME=$dir/config XDG_CONFIG_DIRS=$dir/config && export XDG_CONFIG_HOME XDG_CONFIG_DIRS # no files of this site
for t in "$@"; do
    TMP=$dir/tmp
    rm -rf "$TMP" && mkdir "$TMP" && export TMP
    left_out=
    while IFS= read -r line; do
        case $line in
        '> '* | '>' | '? '*)
            [ -z "$left_out" ] || printf '%s\n' "$line"
            continue
            ;;
        esac
        left_out=
        printf '%s\n' "$line"
        case $line in
        '$+ '*) [ -n "$update" ] || full_length || left_out=1 ;;
        esac
        case $left_out$line in
        '$ '* | '$+ '*)
            sh -c "${line#* }" </dev/null >"$dir/out" 2>&1
            rc=$?
            sed "s|$TMP|\$TMP|g; s/^/> /; s/ *\$//" "$dir/out"
            [ $rc = 0 ] || echo "? $rc"
            ;;
        esac
    done <"$t" >"$dir/got"
    [ -z "$update" ] || cp "$dir/got" "$t"
    if diff -u "$t" "$dir/got"; then pass=$((pass + 1)); else fail=$((fail + 1)); fi
done
echo "$pass passed, $fail failed"
[ $fail = 0 ] && [ $pass -gt 0 ]
