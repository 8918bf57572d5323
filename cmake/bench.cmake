# bench/bench_*.c. `bench` reproduces the papers and sums up, `bench-speed` measures this library; what takes longer has targets of its own.

file(GLOB bench_sources CONFIGURE_DEPENDS bench/bench_*.c)
add_library(bench-figures STATIC EXCLUDE_FROM_ALL bench/figures.c bench/figure_maps.c)
target_include_directories(bench-figures PRIVATE ${PROJECT_SOURCE_DIR} ${PROJECT_SOURCE_DIR}/src)
target_link_libraries(bench-figures PRIVATE hypar-internal m)
foreach(source ${bench_sources})
  get_filename_component(name ${source} NAME_WE)
  add_executable(${name} EXCLUDE_FROM_ALL ${source})
  target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR} ${PROJECT_SOURCE_DIR}/src)
  target_link_libraries(${name} PRIVATE bench-figures hypar-internal m)
endforeach()

# What bench_truth compares with: tables of published measurements.
target_sources(bench_truth PRIVATE bench/truth/read.c bench/truth/predict.c bench/truth/errors.c
               bench/truth/calibrate.c)

# A target that runs a benchmark: hypar_bench(TARGET PROGRAM [ARGUMENT...])
function(hypar_bench target program)
  add_custom_target(${target} COMMAND ${program} ${ARGN} USES_TERMINAL
                    WORKING_DIRECTORY ${PROJECT_SOURCE_DIR} COMMENT "${program}")
endfunction()

# Targets that follow each other: they measure time.
function(hypar_in_turn last)
  foreach(target ${ARGN})
    if(before)
      add_dependencies(${target} ${before})
    endif()
    set(before ${target})
  endforeach()
  add_dependencies(${last} ${before})
endfunction()

set(figures ${PROJECT_BINARY_DIR}/figures)
set(papers hypar optcnn flexflow pipedream truth)
set(all_of_flexflow 3000) # proposals of a search
set(quick_flexflow 200)
set(quick_hypar quick)
hypar_bench(bench-grid sh bench/grid.sh ${PROJECT_BINARY_DIR})
add_dependencies(bench-grid bench_grid)
hypar_bench(bench-better bench_better 300)
hypar_bench(bench-unlike bench_unlike 60)

add_custom_target(bench-summary COMMAND awk -f bench/summary.awk `ls -tr ${figures}/*.csv` # as they were written
                  COMMAND cat ${figures}.failed && test ! -s ${figures}.failed
                  WORKING_DIRECTORY ${PROJECT_SOURCE_DIR} USES_TERMINAL)
add_custom_target(bench DEPENDS bench-summary)
add_custom_target(bench-begin COMMAND ${CMAKE_COMMAND} -E rm -rf ${figures}
                  COMMAND : > ${figures}.failed)
set(runs bench-begin)
foreach(paper ${papers})
  hypar_bench(bench-${paper} bench_${paper} ${all_of_${paper}})
  # One that fails is named at the end; the others are summed up all the same.
  hypar_bench(run_${paper} bench_${paper} --csv ${figures} --svg ${figures} ${quick_${paper}}
              || echo bench_${paper} failed >> ${figures}.failed)
  list(APPEND runs run_${paper})
endforeach()
hypar_in_turn(bench-summary ${runs})

# One figure of each paper, drawn as the paper draws it, in less than a minute; of HyPar also its maps and all choices.
set(figure_of_hypar "Figure 6")
set(figure_of_hypar-maps "Figure 5")
set(figure_of_hypar-choices "Figures 9")
set(figure_of_optcnn "Figure 8")
set(figure_of_flexflow "Figure 6 (servers of nodes)" 200)
set(figure_of_pipedream "Table 1")
foreach(figure hypar hypar-maps hypar-choices optcnn flexflow pipedream)
  string(REGEX REPLACE "-.*" "" paper ${figure})
  add_custom_target(figure-${figure} COMMAND bench_${paper} --svg ${figures} --figure ${figure_of_${figure}} VERBATIM
                    WORKING_DIRECTORY ${PROJECT_SOURCE_DIR} USES_TERMINAL COMMENT "figures in ${figures}")
endforeach()

add_custom_target(bench-speed)
set(runs)
foreach(source ${bench_sources})
  get_filename_component(name ${source} NAME_WE)
  string(REPLACE bench_ "" name ${name})
  if(NOT name IN_LIST papers AND NOT name MATCHES "^(grid|better|unlike)$")
    hypar_bench(run_${name} bench_${name})
    list(APPEND runs run_${name})
  endif()
endforeach()
hypar_in_turn(bench-speed ${runs})

# The planner of the examples: is it better than dp, and how long is a proposal beside flexflow's?
add_executable(try_planner EXCLUDE_FROM_ALL examples/try_planner.c examples/planner.c)
target_link_libraries(try_planner PRIVATE hypar m)
hypar_bench(bench-planner try_planner cluster:2x8,device=v100 4000 alexnet vgg16 resnet18)
