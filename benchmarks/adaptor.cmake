# What benchmarks/adaptor_hot_path.py loads. A module in a folder of its own: it is no program.
if(TARGET stowage_plugin_cuda)
  add_library(adaptor_hot_path_probe MODULE ${CMAKE_CURRENT_LIST_DIR}/adaptor_hot_path_probe.cc)
  stowage_common(adaptor_hot_path_probe)
  target_link_libraries(adaptor_hot_path_probe PRIVATE LibTorch::torch LibTorch::cuda)
  set_target_properties(adaptor_hot_path_probe PROPERTIES PREFIX ""
    BUILD_WITH_INSTALL_RPATH ON  # torch is in the process already
    LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/benchmarks/modules)
endif()
