# How every C file of the project is compiled.

add_compile_definitions(_POSIX_C_SOURCE=200809L)
add_compile_options(-Wall -Wextra -Wpedantic -Wconversion -Wvla)
# Of the public headers, C++ would find shadowed what C writes as `struct stat` and stat().
set(c_warnings -Wshadow -Wstrict-prototypes -Wmissing-prototypes)
add_compile_options("$<$<COMPILE_LANGUAGE:C>:${c_warnings}>")
if(HYPAR_WERROR)
  add_compile_options(-Werror)
endif()

# The same numbers on every machine: no fused multiply-add that the source does not ask for.
add_compile_options(-ffp-contract=off)

# What HYPAR_SANITIZE may be; what finds uses of memory that was never written needs libraries that
# were built with it too (tools/msan.sh).
set(sanitize_ON -fsanitize=address,undefined -fno-sanitize-recover=undefined)
set(sanitize_thread -fsanitize=thread)
set(sanitize_memory -fsanitize=memory -fsanitize-memory-track-origins)
set(sanitize_flags)
if(HYPAR_FUZZ AND NOT HYPAR_SANITIZE)
  set(HYPAR_SANITIZE ON)
endif()
if(HYPAR_SANITIZE)
  if(NOT DEFINED sanitize_${HYPAR_SANITIZE})
    message(FATAL_ERROR "HYPAR_SANITIZE is ${HYPAR_SANITIZE}, expected ON, OFF, thread or memory")
  endif()
  set(sanitize_flags ${sanitize_${HYPAR_SANITIZE}} -fno-omit-frame-pointer)
  add_compile_options("$<$<COMPILE_LANGUAGE:C>:${sanitize_flags}>")
  add_link_options(${sanitize_flags})
endif()
if(HYPAR_SANITIZE STREQUAL "memory") # getc_unlocked inline reads what libc, built without it, wrote
  set_source_files_properties(src/model/onnx/file/skim.c PROPERTIES COMPILE_DEFINITIONS __NO_INLINE__)
endif()

# The sums of messages are put together there; no flag may change a result.
set_source_files_properties(src/kernel/reference_f32.c src/kernel/reference_f64.c PROPERTIES
  COMPILE_OPTIONS "$<$<CONFIG:Release>:-O3>")
# Loops over whole arrays: a root needs no errno, and any number of elements is vectorised.
set_source_files_properties(src/run/optimizer/update_f32.c src/run/optimizer/update_f64.c PROPERTIES
  COMPILE_OPTIONS "$<$<CONFIG:Release>:-O3>;-fno-math-errno")
if(HYPAR_FUZZ)
  if(NOT CMAKE_C_COMPILER_ID STREQUAL "Clang")
    message(FATAL_ERROR "HYPAR_FUZZ needs clang: configure with -DCMAKE_C_COMPILER=clang")
  endif()
  add_compile_options("$<$<COMPILE_LANGUAGE:C>:-fsanitize=fuzzer-no-link>")
endif()

# What makes a fault harder to use: a stack that tells when it was overwritten and cannot be jumped
# over, library calls that know the sizes of their buffers, and an executable at a random place
# whose tables are read-only once it runs. Not beside sanitizers, which find the fault itself.
include(CheckCCompilerFlag)
include(CheckLinkerFlag)
include(CheckCSourceCompiles)
set(hardened OFF)
if(NOT sanitize_flags AND NOT CMAKE_BUILD_TYPE STREQUAL "Debug")
  set(hardened ON)
  include(CheckPIESupported)
  check_pie_supported(LANGUAGES C) # with CMAKE_POSITION_INDEPENDENT_CODE: executables are
  foreach(flag -fstack-protector-strong -fstack-clash-protection)
    string(MAKE_C_IDENTIFIER "HAS${flag}" has)
    check_c_compiler_flag(-Werror\;${flag} ${has}) # clang warns of what it does not use
    if(${has})
      add_compile_options("$<$<COMPILE_LANGUAGE:C>:${flag}>")
    endif()
  endforeach()
  foreach(flag relro now noexecstack)
    check_linker_flag(C "LINKER:-z,${flag}" HAS_Z_${flag})
    if(HAS_Z_${flag})
      add_link_options("LINKER:-z,${flag}")
    endif()
  endforeach()
  # The highest level that compiler and C library have; it needs optimisation.
  foreach(level 3 2)
    set(CMAKE_REQUIRED_FLAGS "-O2 -Werror -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=${level}")
    check_c_source_compiles("
      #include <stdio.h>
      #if !defined __USE_FORTIFY_LEVEL || __USE_FORTIFY_LEVEL < ${level}
      #error
      #endif
      int main(void) { return 0; }" HAS_FORTIFY_${level})
    unset(CMAKE_REQUIRED_FLAGS)
    if(HAS_FORTIFY_${level})
      add_compile_options(
        "$<$<COMPILE_LANGUAGE:C>:-U_FORTIFY_SOURCE;-D_FORTIFY_SOURCE=${level}>")
      break()
    endif()
  endforeach()
endif()
