# Headers that take most of a file's time to compile are compiled once for each kind of target that includes them.
# Files still include what they use: all of it compiles with STOWAGE_PRECOMPILED_HEADERS=OFF, too.
option(STOWAGE_PRECOMPILED_HEADERS "Compile LibTorch's and GoogleTest's headers once" ON)
set(STOWAGE_TORCH_HEADERS
  <ATen/core/Tensor.h> <ATen/core/dispatch/Dispatcher.h> <ATen/core/ivalue.h> <ATen/core/stack.h> <ATen/record_function.h>
  <c10/core/Storage.h>)
set(STOWAGE_TEST_HEADERS
  <gtest/gtest.h> <algorithm> <functional> <map> <memory> <optional> <string> <thread> <unordered_map> <vector>)

# stowage_precompiled_headers(<kind> [PROGRAMS] HEADERS … LINK … [OPTIONS …]): what stowage_precompile(… <kind>) reuses. The
# compiler demands the same options and definitions in both; programs are compiled with -fPIE, libraries with -fPIC.
function(stowage_precompiled_headers kind)
  cmake_parse_arguments(ARG "PROGRAMS" "" "HEADERS;LINK;OPTIONS" ${ARGN})
  if(NOT STOWAGE_PRECOMPILED_HEADERS)
    return()
  endif()
  set(source ${PROJECT_BINARY_DIR}/headers_${kind}.cc)
  file(CONFIGURE OUTPUT ${source} CONTENT "// Holds precompiled headers.\n")
  add_library(stowage_headers_${kind} OBJECT ${source})
  stowage_common(stowage_headers_${kind})
  if(ARG_PROGRAMS)
    set_target_properties(stowage_headers_${kind} PROPERTIES POSITION_INDEPENDENT_CODE OFF)
    list(APPEND ARG_OPTIONS -fPIE)
  endif()
  target_compile_definitions(stowage_headers_${kind} PRIVATE NDEBUG)
  target_compile_options(stowage_headers_${kind} PRIVATE ${ARG_OPTIONS})
  target_link_libraries(stowage_headers_${kind} PRIVATE ${ARG_LINK})
  target_precompile_headers(stowage_headers_${kind} PRIVATE ${ARG_HEADERS})
endfunction()

function(stowage_precompile target kind)
  if(TARGET stowage_headers_${kind})
    target_precompile_headers(${target} REUSE_FROM stowage_headers_${kind})
  endif()
endfunction()
