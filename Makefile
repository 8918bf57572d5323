# A small front for CMake; `make help` lists the targets.

MAKEFLAGS += --no-print-directory
BUILD_TYPE ?= Release
PREFIX ?= /usr/local
FUZZ_SECONDS ?= 600
SOAK_CHANGES ?= 10000
OOM_ALLOCATIONS ?= 2000
KILLS ?= 200
# What `make check` sets: long tests run all of their cases (tests/length.h).
AT_FULL_LENGTH = HYPAR_TEST_LENGTH=full
# The tests that have more cases than `make check` runs.
SOAKED = 'sim/(better|sim)$$|search/(planners|nearby|gpipe|optcnn|flexflow|for|batch|sweep)|mpi/(same|fast)|torch/(onnx|export)'
THREADED ?= 'search/(flexflow|planners|auto|exhaustive|sweep)|base/|cli/(compare|interrupt)'
JOBS ?= $(shell nproc 2>/dev/null || echo 1)
# CC=clang on the command line or in the environment: that compiler, in a build folder of its own.
# Several words ("ccache gcc") are left to cmake, which reads them from the environment.
compiler = $(if $(filter-out default,$(origin CC)),$(CC))
BUILD ?= build$(if $(SANITIZE),-sanitize)$(if $(filter clang%,$(notdir $(compiler))),-clang)
# In quotes, for there may be blanks in it, shells do not expand a ~.
prefix = $(subst ^,,$(subst ^~/,$(HOME)/,^$(PREFIX)))

CONFIGURE = cmake -B $(BUILD) -S . -DCMAKE_BUILD_TYPE=$(BUILD_TYPE) \
	-DHYPAR_SANITIZE=$(or $(SANITIZE:1=ON),OFF) $(if $(filter 1,$(words $(compiler))),-DCMAKE_C_COMPILER=$(compiler))

.PHONY: bench-accuracy bench-better bench-unlike bench-train bench-truth kill tsan msan proof proof-cuda soak oom all tests demo test check install uninstall bench bench-speed bench-hypar bench-optcnn bench-pipedream bench-flexflow bench-grid fuzz format lint valgrind coverage clean help

all: ## build the library and the command
	@sh tools/setup.sh build
	@$(CONFIGURE) >/dev/null
	@cmake --build $(BUILD) -j $(JOBS) --target hypar hypar-cli

tests: ## build the tests too; WERROR=1: a warning is an error
	@sh tools/setup.sh test
	@$(CONFIGURE) -DHYPAR_TESTS=ON $(if $(WERROR),-DHYPAR_WERROR=ON) >/dev/null
	@cmake --build $(BUILD) -j $(JOBS)

demo: all ## set up, build, and show what there is to see
	@PATH="$(abspath $(BUILD)):$$PATH" sh tools/demo.sh

test: tests ## set up, build, run every test, long ones in their short form: minutes; SANITIZE=1: under the sanitizers; CC=clang: built by clang
	@ctest --test-dir $(BUILD) -j $(JOBS) --output-on-failure

check: tests ## every test at full length, as .ci/run runs them; SANITIZE=1, CC=clang: as of test
	@$(AT_FULL_LENGTH) ctest --test-dir $(BUILD) -j $(JOBS) --output-on-failure

.PHONY: sanitize sanitize-short
sanitize: ## every test under the sanitizers, built by gcc and by clang, and every fuzz target for a minute: hours
	@sh tools/setup.sh fuzz
	@$(MAKE) check SANITIZE=1 CC=gcc
	@$(MAKE) check SANITIZE=1 CC=clang
	@$(MAKE) fuzz FUZZ_SECONDS=60

sanitize-short: ## some tests under the sanitizers, built by clang: few devices, parsers, kernels; two minutes
	@sh tools/setup.sh fuzz
	@sh tools/sanitize-short.sh build-sanitize-short $(JOBS)

install: all ## install under PREFIX (/usr/local); DESTDIR is honoured
	@cmake --build $(BUILD) --target completion
	cmake --install $(BUILD) --prefix "$(prefix)"

uninstall: ## remove what is installed under PREFIX (/usr/local); DESTDIR is honoured
	@sh tools/uninstall.sh "$(prefix)"

bench: all ## all papers reproduced, and one summary: the paper's, ours, the ratio; figures in BUILD/figures
	@cmake --build $(BUILD) --target bench

bench-speed: all ## how fast this library is: searches, simulation, kernels, files
	@cmake --build $(BUILD) --target bench-speed

bench-hypar: all ## HyPar's published results beside ours
	@cmake --build $(BUILD) --target bench-hypar

bench-pipedream: all ## PipeDream's published results beside ours
	@cmake --build $(BUILD) --target bench-pipedream

bench-optcnn: all ## OptCNN's published results beside ours
	@cmake --build $(BUILD) --target bench-optcnn

bench-flexflow: all ## FlexFlow's published results beside ours
	@cmake --build $(BUILD) --target bench-flexflow

.PHONY: figure-hypar figure-hypar-maps figure-hypar-choices figure-optcnn figure-flexflow figure-pipedream
figure-hypar: all ## HyPar's Figure 6 (performance over data parallelism), the paper's bars beside ours: BUILD/figures
	+@cmake --build $(BUILD) --target figure-hypar

figure-hypar-maps: all ## HyPar's Figure 5 (dp or mp for each layer and level), the paper's maps beside ours: BUILD/figures
	+@cmake --build $(BUILD) --target figure-hypar-maps

figure-hypar-choices: all ## HyPar's Figures 9 and 10 (all 256 choices of two levels, of two layers), the paper's gains beside ours: BUILD/figures
	+@cmake --build $(BUILD) --target figure-hypar-choices

figure-optcnn: all ## OptCNN's Figure 8 (bytes of AlexNet), the paper's bars beside ours: BUILD/figures
	+@cmake --build $(BUILD) --target figure-optcnn

figure-flexflow: all ## FlexFlow's Figure 6 (speed-ups), the paper's bars beside ours: BUILD/figures; about a minute of processor time
	+@cmake --build $(BUILD) --target figure-flexflow

figure-pipedream: all ## PipeDream's Table 1 (speed-ups) as bars, the paper's beside ours: BUILD/figures; no profiles needed
	+@cmake --build $(BUILD) --target figure-pipedream

bench-grid: all ## auto beside all other planners and a sweep of 3-D plans: hours
	@cmake --build $(BUILD) --target bench-grid

.PHONY: bench-planner
bench-planner: all ## the planner of examples/ beside dp and flexflow: steps, time of a proposal
	@cmake --build $(BUILD) --target bench-planner

bench-better: all ## auto's plans for lesser machines, carried to better ones: 300 pairs
	@cmake --build $(BUILD) --target bench-better

bench-unlike: all ## auto beside all planners on every part of 60 unlike machines
	@cmake --build $(BUILD) --target bench-unlike

bench-accuracy: all ## digits learned under data parallelism and PipeDream: epochs to a target
	@bench/accuracy.sh $(BUILD)/hypar

.PHONY: bench-torch
bench-torch: all ## PyTorch's networks by torch.export and ONNX, torchvision's too; PYTHON has them, each at most LIMIT (600) s
	@$(or $(PYTHON),$(HYPAR_TORCH:%=%/bin/python3),python3) tests/torch/export.py --hypar $(BUILD)/hypar --all --limit $(or $(LIMIT),600)
	@$(or $(PYTHON),$(HYPAR_TORCH:%=%/bin/python3),python3) tests/torch/onnx_import.py --hypar $(BUILD)/hypar --all
	@$(or $(PYTHON),$(HYPAR_TORCH:%=%/bin/python3),python3) tests/torch/parallel.py --hypar $(BUILD)/hypar --all

bench-train: tests ## every planner against one rank, on each of RANKS (1 2 3 4 5 6 7 8)
	@PATH="$(abspath $(BUILD)):$$PATH" BUILD="$(abspath $(BUILD))" LC_ALL=C sh tests/mpi/matrix.sh full

bench-truth: all ## every measured time at hand beside its prediction; here with RANKS (2)
	@sh bench/truth.sh $(BUILD) $(or $(RANKS),2)

kill: tests ## kill a rank at a random moment, KILLS (200) times
	@PATH="$(abspath $(BUILD)):$$PATH" BUILD="$(abspath $(BUILD))" LC_ALL=C sh tools/kill-ranks.sh $(KILLS)

tsan: ## the tests that use threads, under the thread sanitizer
	@$(MAKE) tests SANITIZE=thread BUILD=build-tsan
	@$(AT_FULL_LENGTH) HYPAR_SEEDS=2 ctest --test-dir build-tsan -j $(JOBS) -R $(THREADED) --output-on-failure

msan: ## the unit tests, under clang's memory sanitizer
	@sh tools/setup.sh fuzz
	@sh tools/msan.sh build-msan $(JOBS)

proof: tests ## run 10,000 random plans against the unsplit networks
	@HYPAR_PROOF_PAIRS=10000 ctest --test-dir $(BUILD) -R 'program/proof$$' --output-on-failure --verbose

proof-cuda: tests ## run 1,000 random plans on this machine's card, in double and in single precision and in bf16
	@HYPAR_TEST_CARD=1 HYPAR_PROOF_CARD=1 HYPAR_PROOF_PAIRS=1000 $(BUILD)/tests/test_program_proof
	@HYPAR_TEST_CARD=1 HYPAR_PROOF_CARD=1 HYPAR_PROOF_PAIRS=1000 HYPAR_PROOF_FP32=1 $(BUILD)/tests/test_program_proof
	@HYPAR_TEST_CARD=1 HYPAR_PROOF_CARD=1 HYPAR_PROOF_PAIRS=1000 HYPAR_PROOF_BF16=1 $(BUILD)/tests/test_program_proof

soak: tests ## all cases of long tests, delta against full simulation, SOAK_CHANGES (10,000) changes of each network
	@HYPAR_TEST_LENGTH=soak ctest --test-dir $(BUILD) -j $(JOBS) -R $(SOAKED) --output-on-failure
	@sh tools/soak.sh $(BUILD)/hypar $(SOAK_CHANGES)

oom: tests ## each of the first OOM_ALLOCATIONS (2,000) allocations of each command fails
	@$(BUILD)/tests/out_of_memory $(abspath $(BUILD)/tests/libfailing.so) $(abspath $(BUILD)/hypar) $(OOM_ALLOCATIONS)

fuzz: ## fuzz every parser for FUZZ_SECONDS (600) each, with clang
	@sh tools/setup.sh fuzz
	@cmake -B build-fuzz -S . -DCMAKE_C_COMPILER=clang -DHYPAR_TESTS=ON \
		-DHYPAR_FUZZ=ON >/dev/null
	@cmake --build build-fuzz -j $(JOBS)
	@sh tools/fuzz.sh build-fuzz $(FUZZ_SECONDS)

format: ## lay out every C file as .clang-format says
	@sh tools/format.sh

lint: tests ## clang-tidy, and functions that do not fit on a screen
	@sh tools/lint.sh $(BUILD)

coverage: ## what the tests run of src/, by folder and by file; needs gcovr
	@sh tools/coverage.sh --check
	@sh tools/setup.sh test
	@cmake -B build-coverage -S . -DCMAKE_BUILD_TYPE=Debug -DHYPAR_TESTS=ON \
		-DCMAKE_C_FLAGS="--coverage -fprofile-update=atomic -O0" >/dev/null
	@cmake --build build-coverage -j $(JOBS)
	@find build-coverage -name '*.gcda' -delete
	@$(AT_FULL_LENGTH) ctest --test-dir build-coverage -j $(JOBS) || echo "coverage: some tests failed"
	@sh tools/coverage.sh build-coverage

valgrind: tests ## the unit tests under valgrind, or those of MODULES ("base run")
	@sh tools/valgrind.sh $(BUILD) $(MODULES)

clean: ## remove every build folder
	rm -rf build build-clang build-sanitize build-sanitize-clang build-sanitize-short build-fuzz build-coverage build-tsan build-msan

help: ## list the targets
	@sed -n 's/^\([a-z-]*\):.*## /\1\t/p' Makefile | expand -t 12
