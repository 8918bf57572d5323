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

set(sanitize_flags)
if(HYPAR_SANITIZE OR HYPAR_FUZZ)
  set(sanitize_flags -fsanitize=address,undefined -fno-sanitize-recover=undefined
                     -fno-omit-frame-pointer)
  add_compile_options("$<$<COMPILE_LANGUAGE:C>:${sanitize_flags}>")
  add_link_options(${sanitize_flags})
endif()
if(HYPAR_FUZZ)
  if(NOT CMAKE_C_COMPILER_ID STREQUAL "Clang")
    message(FATAL_ERROR "HYPAR_FUZZ needs clang: configure with -DCMAKE_C_COMPILER=clang")
  endif()
  add_compile_options("$<$<COMPILE_LANGUAGE:C>:-fsanitize=fuzzer-no-link>")
endif()
