# Not a benchmark itself: makes the large traces that benchmarks/placement_table.py places. In a folder of its own, since
# what lies beside the benchmark programs is run as one.
add_executable(placement_traces placement/placement_traces.cc ${PROJECT_SOURCE_DIR}/tests/planner/training_traces.cc)
stowage_common(placement_traces)
target_link_libraries(placement_traces PRIVATE stowage::core stowage::planner)
set_target_properties(placement_traces PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR}/placement)
