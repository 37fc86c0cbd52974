# lp_solve 5.5 as LpSolve::LpSolve. Static where there is a library for that: what is loaded into other people's
# processes should need nothing that lies in no standard place. Debian's package brings no CMake file of its own.
find_path(LpSolve_INCLUDE_DIR lpsolve/lp_lib.h)
find_library(LpSolve_LIBRARY NAMES liblpsolve55_pic.a lpsolve55 PATH_SUFFIXES lp_solve)
find_library(LpSolve_COLAMD_LIBRARY NAMES libcolamd.a colamd)
find_library(LpSolve_SUITESPARSECONFIG_LIBRARY NAMES libsuitesparseconfig.a suitesparseconfig)
mark_as_advanced(LpSolve_INCLUDE_DIR LpSolve_LIBRARY LpSolve_COLAMD_LIBRARY LpSolve_SUITESPARSECONFIG_LIBRARY)

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(LpSolve
  REQUIRED_VARS LpSolve_LIBRARY LpSolve_INCLUDE_DIR LpSolve_COLAMD_LIBRARY LpSolve_SUITESPARSECONFIG_LIBRARY
  REASON_FAILURE_MESSAGE "install liblpsolve55-dev and libsuitesparse-dev, or run tools/setup")

if(LpSolve_FOUND AND NOT TARGET LpSolve::LpSolve)
  add_library(LpSolve::LpSolve INTERFACE IMPORTED)
  target_include_directories(LpSolve::LpSolve INTERFACE ${LpSolve_INCLUDE_DIR})
  target_link_libraries(LpSolve::LpSolve INTERFACE
    ${LpSolve_LIBRARY} ${LpSolve_COLAMD_LIBRARY} ${LpSolve_SUITESPARSECONFIG_LIBRARY} ${CMAKE_DL_LIBS} m)
  # Its symbols, which have names such as solve, stay inside whatever shared library it is linked into.
  target_link_options(LpSolve::LpSolve INTERFACE
    LINKER:--exclude-libs,liblpsolve55_pic.a:libcolamd.a:libsuitesparseconfig.a)
endif()
