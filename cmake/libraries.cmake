# The outside libraries, and the one function that gives them to a build of libhypar.

find_package(PkgConfig REQUIRED)
pkg_check_modules(JANSSON REQUIRED IMPORTED_TARGET jansson>=2.10)
pkg_check_modules(HWLOC IMPORTED_TARGET hwloc>=2.0)
option(HYPAR_WITH_HWLOC "describe this machine with hwloc (the machine word local:N)" ${HWLOC_FOUND})

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

function(hypar_use_library_settings target)
  target_include_directories(${target}
    PUBLIC $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include> $<INSTALL_INTERFACE:include>
    PRIVATE ${PROJECT_SOURCE_DIR}/src)
  target_link_libraries(${target} PRIVATE ${HYPAR_PRIVATE_LIBRARIES})
  if(HYPAR_WITH_HWLOC)
    target_compile_definitions(${target} PRIVATE HYPAR_WITH_HWLOC)
  endif()
endfunction()
