# Everything that `ctest` runs. Tests start in the repository's root.

pkg_check_modules(CMOCKA REQUIRED IMPORTED_TARGET cmocka>=1.1)

# Seconds of processor time of each process of a test, and of wall time of the whole test. Other work on
# the machine lengthens wall time, so that limit only ends tests that wait for ever.
set(test_cpu_seconds 600)
set(test_wall_seconds 3600)
if(HYPAR_SANITIZE) # tens of times as slow
  set(test_cpu_seconds 3600)
  set(test_wall_seconds 14400)
endif()
set(limited sh -c "ulimit -t ${test_cpu_seconds} && exec \"$@\"" limited)

function(hypar_add_test name)
  list(POP_FRONT ARGN command)
  if(TARGET ${command})
    set(command $<TARGET_FILE:${command}>)
  endif()
  add_test(NAME ${name} COMMAND ${limited} ${command} ${ARGN} WORKING_DIRECTORY ${PROJECT_SOURCE_DIR})
  set_tests_properties(${name} PROPERTIES SKIP_RETURN_CODE 77 TIMEOUT ${test_wall_seconds})
  set_property(TEST ${name} PROPERTY ENVIRONMENT
    "PATH=${PROJECT_BINARY_DIR}:$ENV{PATH}" "CC=${CMAKE_C_COMPILER}"
    "BUILD=${PROJECT_BINARY_DIR}" "SANITIZE=${HYPAR_SANITIZE}" "UBSAN_OPTIONS=print_stacktrace=1"
    "LSAN_OPTIONS=suppressions=${PROJECT_SOURCE_DIR}/tests/lsan.supp:print_suppressions=0" "LC_ALL=C" "COLUMNS="
    MALLOC_TRIM_THRESHOLD_=2147483647 MALLOC_MMAP_THRESHOLD_=33554432) # as cli/main.c has it
endfunction()

function(hypar_add_program target source)
  add_executable(${target} ${source} ${ARGN})
  set_target_properties(${target} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests)
  target_include_directories(${target} PRIVATE ${PROJECT_SOURCE_DIR} ${PROJECT_SOURCE_DIR}/src)
  target_link_libraries(${target} PRIVATE hypar-internal m)
endfunction()

# A stand-in for NVIDIA's driver and compiler, which compiles kernels for the host: it needs a C++ compiler.
include(CheckLanguage)
check_language(CXX)
if(CMAKE_CXX_COMPILER)
  enable_language(CXX)
  set(stand_in_folder ${PROJECT_BINARY_DIR}/tests/cuda)
  # Without _FORTIFY_SOURCE: threads leave their stacks by longjmp().
  set(stand_in_flags -std=c++17 -O1 -w -fPIC -ffp-contract=off -fno-exceptions -U_FORTIFY_SOURCE)
  # GCC takes the header that every kernel includes from a precompiled one, in half the time.
  file(MAKE_DIRECTORY ${stand_in_folder}/device.h.gch)
  foreach(form STAND_IN_AT_ONCE STAND_IN_TURNS)
    add_custom_command(OUTPUT ${stand_in_folder}/device.h.gch/${form} DEPENDS tests/cuda/device.h
      COMMAND ${CMAKE_CXX_COMPILER} ${stand_in_flags} -D${form} -x c++-header
        ${PROJECT_SOURCE_DIR}/tests/cuda/device.h -o ${stand_in_folder}/device.h.gch/${form})
  endforeach()
  add_custom_target(stand-in-header DEPENDS ${stand_in_folder}/device.h.gch/STAND_IN_AT_ONCE
    ${stand_in_folder}/device.h.gch/STAND_IN_TURNS)
  list(JOIN stand_in_flags " " stand_in_flags)
  set(parts driver nvrtc builtins blas dnn)
  set(files libcuda.so.1 libnvrtc.so.12 libnvrtc-builtins.so.12.0 libcublas.so.12 libcudnn.so.9)
  foreach(part file IN ZIP_LISTS parts files)
    add_library(stand-in-${part} MODULE tests/cuda/${part}.c)
    if(part MATCHES "blas|dnn")
      target_sources(stand-in-${part} PRIVATE tests/cuda/numbers.c)
    endif()
    set_target_properties(stand-in-${part} PROPERTIES PREFIX "" SUFFIX "" OUTPUT_NAME ${file}
      C_VISIBILITY_PRESET default LIBRARY_OUTPUT_DIRECTORY ${stand_in_folder})
    target_include_directories(stand-in-${part} PRIVATE ${PROJECT_SOURCE_DIR} ${PROJECT_SOURCE_DIR}/src
      ${PROJECT_SOURCE_DIR}/include)
    target_compile_definitions(stand-in-${part} PRIVATE
      STAND_IN_CXX="${CMAKE_CXX_COMPILER}" STAND_IN_ROOT="${PROJECT_SOURCE_DIR}"
      STAND_IN_FOLDER="${stand_in_folder}" STAND_IN_FLAGS="${stand_in_flags}")
    target_link_libraries(stand-in-${part} PRIVATE ${CMAKE_DL_LIBS})
    target_link_options(stand-in-${part} PRIVATE -Wl,-soname,${file})
  endforeach()
endif()

# tests/*.c: what several tests share.
file(GLOB support_sources CONFIGURE_DEPENDS tests/*.c)
set(test_support)
if(support_sources)
  set(test_support test-support)
  add_library(test-support STATIC ${support_sources})
  target_include_directories(test-support PRIVATE ${PROJECT_SOURCE_DIR} ${PROJECT_SOURCE_DIR}/src)
  target_link_libraries(test-support PUBLIC hypar-internal PkgConfig::CMOCKA)
  if(CMAKE_CXX_COMPILER)
    target_compile_definitions(test-support PRIVATE STAND_IN_FOLDER="${stand_in_folder}")
    add_dependencies(test-support stand-in-header stand-in-driver stand-in-nvrtc stand-in-builtins stand-in-blas stand-in-dnn)
  endif()
endif()

# tests/<module>/test_<name>.c is the test <module>/<name>.
file(GLOB test_sources CONFIGURE_DEPENDS tests/*/test_*.c)
foreach(source ${test_sources})
  string(REGEX REPLACE ".*/tests/([^/]+)/test_([^/]+)\\.c" "\\1;\\2" names ${source})
  list(GET names 0 module)
  list(GET names 1 name)
  hypar_add_program(test_${module}_${name} ${source})
  target_link_libraries(test_${module}_${name} PRIVATE ${test_support} PkgConfig::CMOCKA)
  hypar_add_test(${module}/${name} test_${module}_${name})
endforeach()

# The proof on a card, whose stand-in is slow.
if(CMAKE_CXX_COMPILER)
  hypar_add_test(program/proof_card env HYPAR_PROOF_CARD=1 HYPAR_PROOF_PAIRS=2 $<TARGET_FILE:test_program_proof>)
endif()

# tests/fuzz/fuzz_<name>.c: its corpus is an ordinary test; with HYPAR_FUZZ also a fuzzer.
file(GLOB fuzz_sources CONFIGURE_DEPENDS tests/fuzz/fuzz_*.c)
foreach(source ${fuzz_sources})
  get_filename_component(target ${source} NAME_WE)
  string(REPLACE "fuzz_" "" name ${target})
  set_source_files_properties(${source} PROPERTIES COMPILE_OPTIONS -Wno-missing-prototypes)
  hypar_add_program(corpus_${name} ${source} tests/fuzz/driver.c)
  target_link_libraries(corpus_${name} PRIVATE ${test_support})
  hypar_add_test(fuzz/${name} corpus_${name} tests/fuzz/corpus/${name})
  if(HYPAR_FUZZ)
    hypar_add_program(${target} ${source})
    target_link_libraries(${target} PRIVATE ${test_support})
    target_link_options(${target} PRIVATE -fsanitize=fuzzer)
  endif()
endforeach()

# An arena under those who watch memory: the same overruns, seen by the address sanitizer and, as
# the library is built otherwise, by valgrind.
include(CheckCSourceCompiles)
set(CMAKE_REQUIRED_FLAGS -fsanitize=address)
check_c_source_compiles("int main(void) { return 0; }" HYPAR_HAS_ASAN)
unset(CMAKE_REQUIRED_FLAGS)
if(HYPAR_HAS_ASAN AND NOT HYPAR_SANITIZE AND NOT HYPAR_FUZZ)
  hypar_add_program(overrun tests/watched/overrun.c)
  file(GLOB base_sources CONFIGURE_DEPENDS src/base/*.c src/base/*/*.c)
  hypar_add_program(overrun_asan tests/watched/overrun.c ${base_sources})
  target_compile_options(overrun_asan PRIVATE -fsanitize=address -U_FORTIFY_SOURCE)
  target_link_options(overrun_asan PRIVATE -fsanitize=address)
  target_link_libraries(overrun_asan PRIVATE ${HYPAR_PRIVATE_LIBRARIES})
  hypar_add_test(base/watched sh tests/watched/run.sh $<TARGET_FILE:overrun_asan>
    $<$<BOOL:${HYPAR_WITH_VALGRIND}>:$<TARGET_FILE:overrun>>)
endif()

# Each public header stands on its own, in C and in C++; that it compiles is the test.
set(header_languages c)
if(CMAKE_CXX_COMPILER)
  list(APPEND header_languages cpp)
endif()
file(GLOB headers CONFIGURE_DEPENDS include/hypar/*.h)
foreach(language ${header_languages})
  set(sources)
  foreach(header ${headers})
    get_filename_component(name ${header} NAME_WE)
    set(source ${PROJECT_BINARY_DIR}/headers/${name}.${language})
    file(CONFIGURE OUTPUT ${source} @ONLY CONTENT
         "#include <hypar/${name}.h>\n#include <hypar/${name}.h>\n")
    list(APPEND sources ${source})
  endforeach()
  add_library(headers_${language} OBJECT ${sources})
  target_include_directories(headers_${language} PRIVATE include)
endforeach()

# The command, from outside; the installed tree; the sources themselves.
file(GLOB transcripts CONFIGURE_DEPENDS tests/cli/*.t)
foreach(transcript ${transcripts})
  get_filename_component(name ${transcript} NAME_WE)
  hypar_add_test(cli/${name} sh tests/cli/run.sh ${transcript})
endforeach()
hypar_add_test(cli/bad_inputs sh tests/cli/bad_inputs.sh tests/cli/bad_inputs.tsv)
hypar_add_test(cli/sizes sh tests/cli/sizes.sh tests/cli/sizes.tsv)
hypar_add_test(cli/devices sh tests/cli/devices.sh)
hypar_add_test(cli/check_lower sh tests/cli/check_lower.sh)
hypar_add_test(cli/interrupt sh tests/cli/interrupt.sh)
hypar_add_test(cli/card sh tests/cli/card.sh)
hypar_add_test(cli/man sh tests/cli/man.sh)
hypar_add_test(cli/completion sh tests/cli/completion.sh)

# A command and a test with two schedules more: they link a table of their own in place of the library's.
hypar_add_program(hypar-added-schedules tests/plan/added_schedules.c $<TARGET_OBJECTS:hypar-cli>)
set_target_properties(hypar-added-schedules PROPERTIES OUTPUT_NAME hypar
  RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/added_schedules)
target_sources(test_plan_schedules PRIVATE tests/plan/added_schedules.c)
hypar_add_test(cli/added_schedules sh tests/cli/added_schedules.sh)

# Every command line in the documents.
file(GLOB documents CONFIGURE_DEPENDS README.md docs/*.md)
foreach(document ${documents})
  get_filename_component(name ${document} NAME_WE)
  hypar_add_test(documents/${name} sh tests/documents/run.sh ${document})
endforeach()
file(GLOB pages CONFIGURE_DEPENDS docs/man/*.[15])
hypar_add_test(documents/headings sh tests/documents/headings.sh)
hypar_add_test(documents/keys sh tests/documents/keys.sh)
hypar_add_test(documents/memory_terms sh tests/documents/memory_terms.sh)
hypar_add_test(documents/touched sh tests/documents/touched.sh)
hypar_add_test(documents/links sh tests/documents/links.sh)
hypar_add_test(documents/man sh tests/documents/run.sh ${pages})

# The page of `hypar report`; skipped where there is no chromium to show it.
hypar_add_test(browser/pages sh tests/browser/run.sh pages.py)
hypar_add_test(browser/large sh tests/browser/run.sh large.py)

# The benchmarks are built, so that they go on building; `make bench` and the like run them.
foreach(source ${bench_sources})
  get_filename_component(name ${source} NAME_WE)
  set_target_properties(${name} PROPERTIES EXCLUDE_FROM_ALL OFF)
endforeach()
hypar_add_test(bench/figures sh tests/bench/figures.sh)

# A real data set, under data parallelism and PipeDream.
hypar_add_test(bench/accuracy sh bench/accuracy.sh hypar 4 85)

# Training on several processes; skipped where there is no MPI.
hypar_add_program(compare_checkpoints tests/mpi/compare_checkpoints.c)
hypar_add_test(mpi/same sh tests/mpi/matrix.sh sample)
hypar_add_test(mpi/fast sh tests/mpi/fast.sh)
hypar_add_test(mpi/resume sh tests/mpi/resume.sh)
hypar_add_test(mpi/recompute sh tests/mpi/recompute.sh)
hypar_add_test(mpi/shard sh tests/mpi/shard.sh)
hypar_add_test(mpi/random sh tests/mpi/random.sh)
hypar_add_test(mpi/schedules sh tests/mpi/schedules.sh)
hypar_add_test(mpi/trace sh tests/mpi/trace.sh)
hypar_add_test(mpi/profile sh tests/mpi/profile.sh)
hypar_add_test(mpi/bind sh tests/mpi/bind.sh)
hypar_add_test(mpi/hosts sh tests/mpi/hosts.sh)
hypar_add_test(mpi/held_out sh tests/mpi/held_out.sh)
hypar_add_test(mpi/failures sh tests/mpi/failures.sh)
hypar_add_test(mpi/kill sh tools/kill-ranks.sh 5)
# These depend on when ranks do things; the others, which compare results, run beside other tests.
set_tests_properties(mpi/trace mpi/profile mpi/bind mpi/hosts mpi/kill PROPERTIES PROCESSORS 4)

# Training as PyTorch trains, and its networks by torch.export and by ONNX; skipped where HYPAR_TORCH names no environment that has it.
hypar_add_test(torch/parity sh tests/torch/run.sh parity.py)
hypar_add_test(torch/export sh tests/torch/run.sh export.py)
hypar_add_test(torch/forms sh tests/torch/run.sh forms.py)
hypar_add_test(torch/back sh tests/torch/run.sh back.py)
hypar_add_test(torch/onnx sh tests/torch/run.sh onnx_import.py)
hypar_add_test(torch/limits sh tests/torch/run.sh limits.py)
hypar_add_test(torch/parallel sh tests/torch/run.sh parallel.py)
set_tests_properties(torch/parallel PROPERTIES PROCESSORS 4)

# Allocations that fail. A sanitizer has its own allocation functions; `make oom` does them all.
if(NOT HYPAR_SANITIZE AND NOT HYPAR_FUZZ)
  add_library(failing MODULE tests/failing/preload.c)
  set_target_properties(failing PROPERTIES C_VISIBILITY_PRESET default
    LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests)
  add_executable(out_of_memory tests/failing/out_of_memory.c)
  set_target_properties(out_of_memory PROPERTIES
    RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests)
  hypar_add_test(cli/out_of_memory out_of_memory $<TARGET_FILE:failing>
    $<TARGET_FILE:hypar-cli> 2000 16)
  hypar_add_test(cli/failing_writes sh tests/failing/writes.sh $<TARGET_FILE:failing>)
  # The same where the file system has no files without a name.
  hypar_add_test(cli/failing_named_writes env FAIL_TMPFILE=1 sh tests/failing/writes.sh
    $<TARGET_FILE:failing>)
  hypar_add_test(base/named_output env FAIL_TMPFILE=1 LD_PRELOAD=$<TARGET_FILE:failing>
    $<TARGET_FILE:test_base_output>)
endif()

hypar_add_test(install sh tests/install/run.sh)
set_property(TEST install APPEND PROPERTY ENVIRONMENT "CFLAGS=${sanitize_flags}")
if(NOT BUILD_SHARED_LIBS AND NOT HYPAR_SANITIZE)
  hypar_add_test(install_shared sh tests/install/shared.sh)
endif()
if(hardened)
  hypar_add_test(hardened sh tests/install/hardened.sh $<TARGET_FILE:hypar-cli>)
endif()
hypar_add_test(tools/layers sh tools/check-layers.sh)
hypar_add_test(tools/style sh tools/check-style.sh)
hypar_add_test(tools/format sh tools/format.sh --check)

# Processor seconds of the longest tests at full length, about: CTest begins with these.
set(slow_tests torch/parallel 180 search/planners 85 torch/onnx 110 torch/export 90 torch/forms 60 mpi/failures 60 mpi/same 45 cli/plan 50
  cli/explore 45 cli/sizes 40 cli/train 40 mpi/fast 35 torch/parity 32 cli/interrupt 30 program/proof 30 cli/devices 25 search/nearby 32
  search/sweep 30 torch/back 27 kernel/fast 25 search/batch 20 search/gpipe 20 search/flexflow 15 search/hybrid 15 search/for 15
  search/optcnn 15 fit/fit 16 cli/bad_inputs 14 bench/accuracy 13 mpi/held_out 20
  run/cuda_kernels 30 program/proof_card 25 model/zoo 15 fit/steps 14)
while(slow_tests)
  list(POP_FRONT slow_tests name seconds)
  set_tests_properties(${name} PROPERTIES COST ${seconds})
endwhile()
