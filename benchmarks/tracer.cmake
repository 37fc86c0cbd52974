if(TARGET stowage::recorder)
  stowage_benchmark(tracer_recorder
    SOURCES ${CMAKE_CURRENT_LIST_DIR}/tracer_recorder.cc
    LINK stowage::recorder)
endif()
