stowage_benchmark(planner_placement
  SOURCES planner_placement.cc ${PROJECT_SOURCE_DIR}/tests/planner/training_traces.cc
  LINK stowage::planner)
stowage_benchmark(planner_search
  SOURCES planner_search.cc
  LINK stowage::planner)
target_compile_definitions(planner_search PRIVATE STOWAGE_INSTANCES="${CMAKE_CURRENT_LIST_DIR}/instances")
