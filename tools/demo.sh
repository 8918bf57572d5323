#!/bin/sh
# What hypar can do, in a minute. `make demo` runs it with the built command first in PATH.
set -e

show() {
    printf '\n$ hypar %s\n' "$*"
    hypar "$@"
}

show --version
show models
show machines
show import lenet5
show import resnet50 --batch 64
show machines cluster:4x8,device=h100
