# A small front for CMake; `make help` lists the targets.

MAKEFLAGS += --no-print-directory
BUILD_TYPE ?= Release
PREFIX ?= /usr/local
FUZZ_SECONDS ?= 600
JOBS ?= $(shell nproc 2>/dev/null || echo 1)
BUILD ?= build$(if $(SANITIZE),-sanitize)

CONFIGURE = cmake -B $(BUILD) -S . -DCMAKE_BUILD_TYPE=$(BUILD_TYPE) -DHYPAR_WERROR=ON \
	-DHYPAR_SANITIZE=$(if $(SANITIZE),ON,OFF)

.PHONY: all demo test install bench fuzz format lint valgrind clean help setup

all: setup ## build the library and the command (the tests too)
	@$(CONFIGURE) >/dev/null
	@cmake --build $(BUILD) -j $(JOBS)

demo: all ## set up, build, and show what there is to see
	@PATH="$(abspath $(BUILD)):$$PATH" sh tools/demo.sh

test: all ## set up, build, run every test; SANITIZE=1: under the sanitizers
	@ctest --test-dir $(BUILD) -j $(JOBS) --output-on-failure

install: all ## install under PREFIX (/usr/local); DESTDIR is honoured
	cmake --install $(BUILD) --prefix $(PREFIX)

bench: all ## measure; bench/ says what and against what
	@cmake --build $(BUILD) --target bench

fuzz: ## fuzz every parser for FUZZ_SECONDS (600) each, with clang
	@sh tools/setup.sh fuzz
	@cmake -B build-fuzz -S . -DCMAKE_C_COMPILER=clang -DHYPAR_FUZZ=ON >/dev/null
	@cmake --build build-fuzz -j $(JOBS)
	@sh tools/fuzz.sh build-fuzz $(FUZZ_SECONDS)

format: ## lay out every C file as .clang-format says
	@sh tools/format.sh

lint: all ## clang-tidy, and functions that do not fit on a screen
	@sh tools/lint.sh $(BUILD)

valgrind: all ## the unit tests under valgrind
	@sh tools/valgrind.sh $(BUILD)

clean: ## remove every build folder
	rm -rf build build-sanitize build-fuzz

help: ## list the targets
	@sed -n 's/^\([a-z]*\):.*## /\1\t/p' Makefile | expand -t 12

setup:
	@sh tools/setup.sh build
