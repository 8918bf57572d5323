# The outside libraries, and the one function that gives them to a build of libhypar.

find_package(PkgConfig REQUIRED)
pkg_check_modules(JANSSON REQUIRED IMPORTED_TARGET jansson>=2.10)
pkg_check_modules(HWLOC IMPORTED_TARGET hwloc>=2.0)
pkg_check_modules(PROTOBUF_C IMPORTED_TARGET libprotobuf-c>=1.3)
find_program(PROTOC_C NAMES protoc-c)
set(protobuf_c_found OFF)
if(PROTOBUF_C_FOUND AND PROTOC_C)
  set(protobuf_c_found ON)
endif()
option(HYPAR_WITH_HWLOC "describe this machine with hwloc (the machine word local:N)" ${HWLOC_FOUND})

option(HYPAR_WITH_PROTOBUF_C "read ONNX files with protobuf-c" ${protobuf_c_found})

pkg_check_modules(OPENBLAS IMPORTED_TARGET openblas>=0.3)
option(HYPAR_WITH_BLAS "compute fast, with OpenBLAS" ${OPENBLAS_FOUND})

# oneDNN 2: version 3 has other functions. It asks OpenMP for the number of its threads, GNU's, so
# that is the one to be told that it is 1.
find_path(DNNL_HEADERS dnnl.h)
find_library(DNNL_LIBRARY NAMES dnnl libdnnl.so.2)
set(dnnl_found OFF)
if(DNNL_HEADERS AND DNNL_LIBRARY AND CMAKE_C_COMPILER_ID STREQUAL "GNU")
  file(STRINGS ${DNNL_HEADERS}/oneapi/dnnl/dnnl_version.h dnnl_version REGEX "VERSION_MAJOR +2$")
  find_package(OpenMP COMPONENTS C)
  if(dnnl_version AND OpenMP_C_FOUND)
    set(dnnl_found ON)
  endif()
endif()
option(HYPAR_WITH_DNNL "on x86-64, compute products in single precision with oneDNN" OFF)

find_package(MPI QUIET COMPONENTS C)
option(HYPAR_WITH_MPI "train on several processes, with MPI" ${MPI_C_FOUND})

find_path(VALGRIND_HEADERS valgrind/memcheck.h)
set(valgrind_found OFF)
if(VALGRIND_HEADERS)
  set(valgrind_found ON)
endif()
option(HYPAR_WITH_VALGRIND "let valgrind see the pieces of an arena" ${valgrind_found})

set(THREADS_PREFER_PTHREAD_FLAG ON)
find_package(Threads REQUIRED)

set(HYPAR_PRIVATE_LIBRARIES PkgConfig::JANSSON Threads::Threads m)
set(HYPAR_PC_PACKAGES jansson)
if(HYPAR_WITH_HWLOC)
  if(NOT HWLOC_FOUND)
    message(FATAL_ERROR "HYPAR_WITH_HWLOC is ON but hwloc >= 2.0 was not found (libhwloc-dev)")
  endif()
  list(APPEND HYPAR_PRIVATE_LIBRARIES PkgConfig::HWLOC)
  list(APPEND HYPAR_PC_PACKAGES hwloc)
endif()

if(HYPAR_WITH_BLAS)
  if(NOT OPENBLAS_FOUND)
    message(FATAL_ERROR "HYPAR_WITH_BLAS is ON but OpenBLAS >= 0.3 was not found (libopenblas-dev)")
  endif()
  list(APPEND HYPAR_PRIVATE_LIBRARIES PkgConfig::OPENBLAS)
  list(APPEND HYPAR_PC_PACKAGES openblas)
endif()

if(HYPAR_WITH_DNNL)
  if(NOT dnnl_found OR NOT HYPAR_WITH_BLAS)
    message(FATAL_ERROR "HYPAR_WITH_DNNL is ON but there is no oneDNN 2 (libdnnl-dev), no GNU "
                        "compiler with OpenMP, or no OpenBLAS")
  endif()
  list(APPEND HYPAR_PRIVATE_LIBRARIES ${DNNL_LIBRARY} OpenMP::OpenMP_C)
  set(HYPAR_PC_DNNL " -ldnnl -fopenmp")
endif()

if(HYPAR_WITH_MPI)
  if(NOT MPI_C_FOUND)
    message(FATAL_ERROR "HYPAR_WITH_MPI is ON but MPI was not found (libopenmpi-dev)")
  endif()
  list(APPEND HYPAR_PRIVATE_LIBRARIES MPI::MPI_C)
  list(APPEND HYPAR_PC_PACKAGES ompi-c)
endif()

# The fast kernels: loops that become vectors, of x86-64 for several sets of instructions. Sums
# may be taken in the order that vectors want, where the source says so (omp simd).
set(fast_flags -O3 -fopenmp-simd -fno-math-errno -fno-trapping-math -ffp-contract=fast
    -Wno-pass-failed)
set(fast_folder ${PROJECT_SOURCE_DIR}/src/kernel/fast)
set(x86_levels OFF)
if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
  include(CheckCCompilerFlag)
  check_c_compiler_flag(-march=x86-64-v4 HAS_X86_LEVELS)
  set(x86_levels ${HAS_X86_LEVELS})
endif()
foreach(precision f32 f64)
  set_source_files_properties(${fast_folder}/fast_${precision}.c
    PROPERTIES COMPILE_OPTIONS "${fast_flags}")
  foreach(level 3 4)
    set(x86_flags)
    if(x86_levels)
      set(x86_flags -march=x86-64-v${level} -mprefer-vector-width=512)
    endif()
    set_source_files_properties(${fast_folder}/fast_${precision}_v${level}.c
      PROPERTIES COMPILE_OPTIONS "${fast_flags};${x86_flags}")
  endforeach()
endforeach()

# The messages of src/model/onnx/onnx.proto as C, made at build time.
if(HYPAR_WITH_PROTOBUF_C)
  if(NOT protobuf_c_found)
    message(FATAL_ERROR "HYPAR_WITH_PROTOBUF_C is ON but protobuf-c >= 1.3 was not found "
                        "(libprotobuf-c-dev, protobuf-c-compiler)")
  endif()
  list(APPEND HYPAR_PRIVATE_LIBRARIES PkgConfig::PROTOBUF_C)
  list(APPEND HYPAR_PC_PACKAGES libprotobuf-c)
  set(onnx_folder ${PROJECT_BINARY_DIR}/onnx)
  file(MAKE_DIRECTORY ${onnx_folder})
  add_custom_command(
    OUTPUT ${onnx_folder}/onnx.pb-c.c ${onnx_folder}/onnx.pb-c.h
    COMMAND ${PROTOC_C} --proto_path=${PROJECT_SOURCE_DIR}/src/model/onnx --c_out=${onnx_folder} onnx.proto
    DEPENDS ${PROJECT_SOURCE_DIR}/src/model/onnx/onnx.proto)
  # One library: two targets would make the files at the same time.
  add_library(hypar-onnx OBJECT ${onnx_folder}/onnx.pb-c.c)
  target_compile_options(hypar-onnx PRIVATE -w)
  target_link_libraries(hypar-onnx PRIVATE PkgConfig::PROTOBUF_C)
endif()

function(hypar_use_library_settings target)
  target_include_directories(${target}
    PUBLIC $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include> $<INSTALL_INTERFACE:include>
    PRIVATE ${PROJECT_SOURCE_DIR}/src)
  target_link_libraries(${target} PRIVATE ${HYPAR_PRIVATE_LIBRARIES})
  if(HYPAR_WITH_HWLOC)
    target_compile_definitions(${target} PRIVATE HYPAR_WITH_HWLOC)
  endif()
  if(HYPAR_WITH_BLAS)
    target_compile_definitions(${target} PRIVATE HYPAR_WITH_BLAS)
  endif()
  if(HYPAR_WITH_DNNL)
    target_compile_definitions(${target} PRIVATE HYPAR_WITH_DNNL)
    target_include_directories(${target} SYSTEM PRIVATE ${DNNL_HEADERS})
  endif()
  if(HYPAR_WITH_MPI)
    target_compile_definitions(${target} PRIVATE HYPAR_WITH_MPI)
  endif()
  if(x86_levels)
    target_compile_definitions(${target} PRIVATE HYPAR_X86_LEVELS)
  endif()
  if(HYPAR_WITH_VALGRIND)
    target_compile_definitions(${target} PRIVATE HYPAR_WITH_VALGRIND)
  endif()
  if(HYPAR_WITH_PROTOBUF_C)
    target_compile_definitions(${target} PRIVATE HYPAR_WITH_PROTOBUF_C)
    target_sources(${target} PRIVATE $<TARGET_OBJECTS:hypar-onnx>)
    target_include_directories(${target} PRIVATE ${onnx_folder})
    add_dependencies(${target} hypar-onnx)
  endif()
endfunction()
