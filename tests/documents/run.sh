#!/bin/sh
# run.sh [--show] DOCUMENT... - run the command lines of documents, each document in a scratch folder of
# its own that has examples/ of the tree.
#
# In Markdown these are blocks of ```console: lines after '$ ' are commands, lines after '> ' go on with
# them, other lines are what they print, with '...' for what is left out; line breaks and spaces are not
# compared. Lines 'hypar: ...' are what they print on standard error, and let them fail. Blocks of ```sh
# are scripts, whose output is not shown. In manual pages they are the lines '.Dl $ '. After
# '<!-- not run: why -->', in manual pages '.\" not run: why', what follows is left out.
# --show prints what each command prints, and copies pictures into docs/img.
sh tests/cli/current.sh || exit 2
show=
if [ "$1" = --show ]; then show=1 && shift; fi
root=$PWD
here=$root/tests/documents
dir=$(mktemp -d) && trap 'rm -rf "$dir"' EXIT
HOME=$dir/home && mkdir "$HOME" && export HOME
XDG_CACHE_HOME=$dir/cache && export XDG_CACHE_HOME # no profile of this machine
XDG_CONFIG_HOME=$dir/config XDG_CONFIG_DIRS=$dir/config && export XDG_CONFIG_HOME XDG_CONFIG_DIRS # no files of this site
fail=0
run() { # NUMBER: its command; what it printed is compared with what is wanted
    item=$dir/items/$1
    (cd "$dir/folder" && sh -e "$item.run") </dev/null >"$item.out" 2>"$item.err"
    rc=$?
    if [ -n "$show" ]; then
        sed 's/^/$ /' "$item.run" && cat "$item.err" "$item.out"
        [ $rc = 0 ] || echo "? $rc"
        return
    fi
    if [ $rc != 0 ] && ! grep -qs '^hypar: ' "$item.want"; then
        echo "$document: exit code $rc:" && cat "$item.run" "$item.err"
        fail=1
    elif [ -f "$item.want" ]; then
        awk -v document="$document" -v got="$item.out" -v err="$item.err" -v run="$item.run" \
            -f "$here/compare.awk" "$item.want" || fail=1
    fi
}
pictures() { # those of docs/img that the document shows are as its commands draw them
    for picture in $(grep -oE '\((docs/)?img/[^)]*' "$document" | sed -E 's/^\((docs\/)?/docs\//'); do
        drawn=$dir/folder/$(basename "$picture")
        if [ -n "$show" ] && [ -f "$drawn" ]; then
            cp "$drawn" "$picture"
        elif [ -f "$drawn" ] && ! cmp "$drawn" "$picture"; then
            echo "$document: --show draws it again"
            fail=1
        fi
    done
}
for document in "$@"; do
    rm -rf "$dir/folder" "$dir/items" && mkdir "$dir/folder" "$dir/items"
    cp -r examples "$dir/folder"
    awk -v items="$dir/items" -f "$here/items.awk" "$document" || { fail=1 && continue; }
    n=0
    for item in "$dir"/items/*.run; do
        [ -f "$item" ] || break
        n=$((n + 1))
        run "$(basename "$item" .run)"
    done
    pictures
    echo "$document: $n commands"
done
exit $fail
