#!/bin/sh
# uninstall.sh PREFIX - remove what `cmake --install` has put under PREFIX: the files that the
# manifest there lists, and the folders that it made, where nothing else lies in them. DESTDIR is
# honoured.
stop() {
    echo "uninstall: $*" >&2
    exit 1
}
case $1 in
/*) place=$DESTDIR$1 ;;
?*) place=$DESTDIR$PWD/$1 ;;
*) stop "expected a PREFIX" ;;
esac
manifest=$place/share/hypar/installed.txt
[ -f "$manifest" ] || stop "no installation in '$place': $manifest is not there; expected PREFIX and DESTDIR as of the installation"
kept=$(mktemp) && trap 'rm -f "$kept"' EXIT && cat "$manifest" >"$kept" || stop "cannot read $manifest"

whole() { # PATH: inside the prefix, or as it is
    case $1 in
    /*) echo "$DESTDIR$1" ;;
    *) echo "$place/$1" ;;
    esac
}
removed=0
while read -r kind path; do
    [ "$kind" = file ] || continue
    file=$(whole "$path")
    [ -e "$file" ] || [ -L "$file" ] || { echo "not there: $file" && continue; }
    rm -f "$file" || stop "cannot remove $file"
    removed=$((removed + 1))
done <"$kept"
rm -f "$manifest" || stop "cannot remove $manifest"
sed -n 's/^folder *//p' "$kept" | while read -r path; do whole "$path"; done |
    LC_ALL=C sort -r | while read -r folder; do # those inside others first
    rmdir "$folder" 2>/dev/null
done
echo "$removed files removed from $place"
