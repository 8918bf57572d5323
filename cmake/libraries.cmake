# The outside libraries, and the one function that gives them to a build of libhypar.

find_package(PkgConfig REQUIRED)
pkg_check_modules(JANSSON REQUIRED IMPORTED_TARGET jansson>=2.10)
pkg_check_modules(ZLIB REQUIRED IMPORTED_TARGET zlib>=1.2)
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

# Libraries that training alone needs are loaded when it begins (src/base/files/library.c), by the name
# that they have for the dynamic linker; by their path where it would not look.
function(hypar_find_loaded name libraries)
  list(FILTER libraries INCLUDE REGEX "/lib(mpi|openblas)[^/]*$")
  list(GET libraries 0 library)
  execute_process(COMMAND ${CMAKE_READELF} -d ${library} OUTPUT_VARIABLE about ERROR_QUIET)
  if(NOT about MATCHES "SONAME[^[]*\\[([^]]*)\\]")
    message(FATAL_ERROR "${library} is no shared library")
  endif()
  set(found ${CMAKE_MATCH_1})
  get_filename_component(library ${library} REALPATH)
  get_filename_component(folder ${library} DIRECTORY)
  foreach(usual ${CMAKE_C_IMPLICIT_LINK_DIRECTORIES})
    if(EXISTS ${usual}/${found})
      set(folder)
    endif()
  endforeach()
  if(folder)
    set(found ${folder}/${found})
  endif()
  set(HYPAR_${name}_LIBRARY ${found} CACHE STRING "loaded when training begins")
endfunction()

set(HYPAR_PRIVATE_LIBRARIES PkgConfig::JANSSON PkgConfig::ZLIB Threads::Threads m ${CMAKE_DL_LIBS})
set(HYPAR_PC_PACKAGES jansson zlib)
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
  hypar_find_loaded(BLAS "${OPENBLAS_LINK_LIBRARIES}")
endif()

if(HYPAR_WITH_MPI)
  if(NOT MPI_C_FOUND)
    message(FATAL_ERROR "HYPAR_WITH_MPI is ON but MPI was not found (libopenmpi-dev)")
  endif()
  hypar_find_loaded(MPI "${MPI_C_LIBRARIES}")
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
    set_source_files_properties(${fast_folder}/fast_${precision}_v${level}.c
      PROPERTIES COMPILE_OPTIONS "${fast_flags};$<$<BOOL:${x86_levels}>:-march=x86-64-v${level}>")
  endforeach()
endforeach()

# The messages of src/model/onnx/file/onnx.proto as C, made at build time.
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
    COMMAND ${PROTOC_C} --proto_path=${PROJECT_SOURCE_DIR}/src/model/onnx/file --c_out=${onnx_folder} onnx.proto
    DEPENDS ${PROJECT_SOURCE_DIR}/src/model/onnx/file/onnx.proto)
  # One library: two targets would make the files at the same time.
  add_library(hypar-onnx OBJECT ${onnx_folder}/onnx.pb-c.c)
  target_compile_options(hypar-onnx PRIVATE -w)
  target_link_libraries(hypar-onnx PRIVATE PkgConfig::PROTOBUF_C)
endif()

# The page of `hypar report` as C, made at build time.
set(page_folder ${PROJECT_SOURCE_DIR}/src/report/html)
file(GLOB page_parts CONFIGURE_DEPENDS ${page_folder}/*.html ${page_folder}/*.css ${page_folder}/*.js)
add_custom_command(
  OUTPUT ${PROJECT_BINARY_DIR}/page_source.c
  COMMAND ${CMAKE_COMMAND} -DFOLDER=${page_folder} -DOUT=${PROJECT_BINARY_DIR}/page_source.c
          -P ${PROJECT_SOURCE_DIR}/cmake/page.cmake
  DEPENDS ${page_parts} ${PROJECT_SOURCE_DIR}/cmake/page.cmake)
add_library(hypar-page OBJECT ${PROJECT_BINARY_DIR}/page_source.c)
target_include_directories(hypar-page PRIVATE ${PROJECT_SOURCE_DIR}/include ${PROJECT_SOURCE_DIR}/src)

# The kernels of cards as C, made at build time.
set(cuda_folder ${PROJECT_SOURCE_DIR}/src/run/backend/cuda)
file(GLOB cuda_sources CONFIGURE_DEPENDS ${cuda_folder}/*.cu)
file(GLOB cuda_headers CONFIGURE_DEPENDS ${cuda_folder}/*.h)
set(cuda_texts)
foreach(source ${cuda_sources})
  get_filename_component(name ${source} NAME_WE)
  set(text ${PROJECT_BINARY_DIR}/cuda_${name}.c)
  add_custom_command(
    OUTPUT ${text}
    COMMAND ${CMAKE_COMMAND} -DROOT=${PROJECT_SOURCE_DIR}/src -DFILE=${source} -DOUT=${text}
            -P ${PROJECT_SOURCE_DIR}/cmake/cuda.cmake
    DEPENDS ${source} ${PROJECT_SOURCE_DIR}/cmake/cuda.cmake ${cuda_headers}
            ${PROJECT_SOURCE_DIR}/src/run/optimizer/coefficients.h
            ${PROJECT_SOURCE_DIR}/src/kernel/scalar.inc)
  list(APPEND cuda_texts ${text})
endforeach()
add_library(hypar-cuda OBJECT ${cuda_texts})
target_include_directories(hypar-cuda PRIVATE ${PROJECT_SOURCE_DIR}/src)

function(hypar_use_library_settings target)
  target_sources(${target} PRIVATE $<TARGET_OBJECTS:hypar-page> $<TARGET_OBJECTS:hypar-cuda>)
  target_include_directories(${target}
    PUBLIC $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include> $<INSTALL_INTERFACE:include>
    PRIVATE ${PROJECT_SOURCE_DIR}/src)
  target_link_libraries(${target} PRIVATE ${HYPAR_PRIVATE_LIBRARIES})
  if(HYPAR_WITH_HWLOC)
    target_compile_definitions(${target} PRIVATE HYPAR_WITH_HWLOC)
  endif()
  if(HYPAR_WITH_BLAS)
    target_compile_definitions(${target} PRIVATE HYPAR_WITH_BLAS
      HYPAR_BLAS_LIBRARY="${HYPAR_BLAS_LIBRARY}")
    target_include_directories(${target} SYSTEM PRIVATE ${OPENBLAS_INCLUDE_DIRS})
  endif()
  if(HYPAR_WITH_MPI)
    target_compile_definitions(${target} PRIVATE HYPAR_WITH_MPI
      HYPAR_MPI_LIBRARY="${HYPAR_MPI_LIBRARY}")
    target_include_directories(${target} SYSTEM PRIVATE ${MPI_C_INCLUDE_DIRS})
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
