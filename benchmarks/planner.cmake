stowage_benchmark(planner_placement
  SOURCES planner_placement.cc ${PROJECT_SOURCE_DIR}/tests/planner/training_traces.cc
  LINK stowage::planner)
