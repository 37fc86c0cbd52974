# What `cmake --install BUILD --component development` puts under a prefix: stowage::planner as a CMake package, with the
# headers that it shows. Another project then says find_package(stowage) and links stowage::planner; neither torch nor
# CUDA is in it.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

# stowage_install_package(TARGETS … HEADERS …): HEADERS are those that others include, relative to the source's root;
# what these include comes along.
function(stowage_install_package)
  cmake_parse_arguments(ARG "" "" "TARGETS;HEADERS" ${ARGN})
  set(package_folder ${CMAKE_INSTALL_LIBDIR}/cmake/stowage)
  install(TARGETS ${ARG_TARGETS} EXPORT stowage
    ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT development
    INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
  install(EXPORT stowage NAMESPACE stowage:: FILE stowageTargets.cmake
    DESTINATION ${package_folder} COMPONENT development)

  configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/stowageConfig.cmake.in
    ${PROJECT_BINARY_DIR}/package/stowageConfig.cmake INSTALL_DESTINATION ${package_folder} NO_SET_AND_CHECK_MACRO)
  write_basic_package_version_file(${PROJECT_BINARY_DIR}/package/stowageConfigVersion.cmake
    COMPATIBILITY SameMinorVersion)
  install(
    FILES
      ${PROJECT_BINARY_DIR}/package/stowageConfig.cmake ${PROJECT_BINARY_DIR}/package/stowageConfigVersion.cmake
      ${PROJECT_SOURCE_DIR}/cmake/FindLpSolve.cmake
    DESTINATION ${package_folder} COMPONENT development)

  install(CODE "
    set(stowage_source \"${PROJECT_SOURCE_DIR}\")
    set(stowage_headers \"${ARG_HEADERS}\")
    set(stowage_staging \"${PROJECT_BINARY_DIR}/package/include\")
    set(stowage_include \"${CMAKE_INSTALL_INCLUDEDIR}\")" COMPONENT development)
  install(SCRIPT ${PROJECT_SOURCE_DIR}/cmake/install_headers.cmake COMPONENT development)
endfunction()
