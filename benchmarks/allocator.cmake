stowage_benchmark(allocator_hot_path
  SOURCES ${CMAKE_CURRENT_LIST_DIR}/allocator_hot_path.cc ${PROJECT_SOURCE_DIR}/tests/allocator/jobs.cc
  LINK stowage::allocator)
