#!/bin/sh
# format.sh [--check] - lay out every C file as .clang-format says, or say which are not.
cd "$(dirname "$0")/.." || exit 2
format=$(command -v clang-format-14 || command -v clang-format) || {
    echo "clang-format is not installed"
    exit 77
}
case $("$format" --version) in
*' version 14.'*) ;;
*)
    echo "the layout is that of clang-format 14; found: $("$format" --version)"
    exit 77
    ;;
esac
if [ "$1" = --check ]; then
    mode='--dry-run -Werror'
else
    mode=-i
fi
find cli include src tests bench examples \( -name '*.[ch]' -o -name '*.inc' \) -print0 | xargs -0 "$format" $mode
