#!/bin/sh
# run.sh SCRIPT - the page of `hypar report` in a browser: Debian's chromium and chromium-driver, driven by Python.
for command in chromium chromedriver python3; do
    if ! command -v $command >/dev/null; then
        echo "skipped: no $command"
        exit 77
    fi
done
exec python3 "tests/browser/$1"
