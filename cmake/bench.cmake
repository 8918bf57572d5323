# bench/bench_*.c: built and run by the target `bench` only.

add_custom_target(bench)
file(GLOB bench_sources CONFIGURE_DEPENDS bench/bench_*.c)
set(bench_before)
foreach(source ${bench_sources})
  get_filename_component(name ${source} NAME_WE)
  add_executable(${name} EXCLUDE_FROM_ALL ${source})
  target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR} ${PROJECT_SOURCE_DIR}/src)
  target_link_libraries(${name} PRIVATE hypar-internal m)
  add_custom_target(run_${name} COMMAND ${name} USES_TERMINAL
                    WORKING_DIRECTORY ${PROJECT_SOURCE_DIR} COMMENT "${name}")
  if(bench_before) # one after the other: they measure time
    add_dependencies(run_${name} ${bench_before})
  endif()
  add_dependencies(bench run_${name})
  set(bench_before run_${name})
endforeach()

# By themselves: better machines, which takes minutes on many cores, and the papers' evaluations.
add_custom_target(bench-better COMMAND bench_better 300 USES_TERMINAL
                  WORKING_DIRECTORY ${PROJECT_SOURCE_DIR} COMMENT "bench_better")
foreach(paper hypar optcnn pipedream)
  add_custom_target(bench-${paper} COMMAND bench_${paper} USES_TERMINAL
                    WORKING_DIRECTORY ${PROJECT_SOURCE_DIR} COMMENT "bench_${paper}")
endforeach()
add_custom_target(bench-flexflow COMMAND bench_flexflow 20 USES_TERMINAL
                  WORKING_DIRECTORY ${PROJECT_SOURCE_DIR} COMMENT "bench_flexflow")
add_custom_target(bench-grid COMMAND sh bench/grid.sh ${PROJECT_BINARY_DIR} DEPENDS bench_grid
                  USES_TERMINAL WORKING_DIRECTORY ${PROJECT_SOURCE_DIR} COMMENT "bench_grid")
