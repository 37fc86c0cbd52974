# Asks Python where the installed torch and the CUDA headers of its wheels are. No CUDA toolkit is needed.
#
# Input: STOWAGE_PYTHON (default: .venv/bin/python, else python3); or STOWAGE_TORCH, what locate_torch.py said already.
# Result: LibTorch_FOUND, LibTorch_VERSION, targets LibTorch::c10, LibTorch::torch (c10, torch, torch_cpu),
#   LibTorch::cuda (c10_cuda; headers cuda.h and cuda_runtime_api.h) and LibTorch::cuda_headers where torch has CUDA;
#   LibTorch_HAS_C10D where it has torch.distributed.
if(NOT STOWAGE_PYTHON)
  if(EXISTS ${PROJECT_SOURCE_DIR}/.venv/bin/python)
    set(STOWAGE_PYTHON ${PROJECT_SOURCE_DIR}/.venv/bin/python)
  else()
    find_program(STOWAGE_PYTHON NAMES python3 python)
  endif()
endif()

if(STOWAGE_TORCH)
  set(located ${STOWAGE_TORCH})
else()
  execute_process(
    COMMAND ${STOWAGE_PYTHON} ${CMAKE_CURRENT_LIST_DIR}/locate_torch.py
    OUTPUT_VARIABLE located ERROR_VARIABLE located_problem RESULT_VARIABLE located_status
    OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_STRIP_TRAILING_WHITESPACE)
  if(NOT located_status EQUAL 0)
    message(FATAL_ERROR "Stowage is built against the installed torch. ${located_problem}\n"
      "Or say which Python has it: -DSTOWAGE_PYTHON=/path/to/python")
  endif()
endif()
list(GET located 0 LibTorch_VERSION)
list(GET located 1 LibTorch_ROOT)
list(GET located 2 LibTorch_CXX11_ABI)
list(GET located 3 LibTorch_CUDA_INCLUDES)
if(NOT LibTorch_CUDA_INCLUDES STREQUAL "none")
  string(REPLACE ":" ";" LibTorch_CUDA_INCLUDES ${LibTorch_CUDA_INCLUDES})
  list(GET LibTorch_CUDA_INCLUDES 0 LibTorch_CUDA_INCLUDE)  # where the runtime's headers are
endif()

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(LibTorch REQUIRED_VARS LibTorch_ROOT VERSION_VAR LibTorch_VERSION)

if(LibTorch_FOUND AND NOT TARGET LibTorch::c10)
  foreach(name c10 torch torch_cpu)
    add_library(LibTorch::lib_${name} SHARED IMPORTED)
    set_target_properties(LibTorch::lib_${name} PROPERTIES
      IMPORTED_LOCATION ${LibTorch_ROOT}/lib/lib${name}.so)
  endforeach()
  add_library(LibTorch::c10 INTERFACE IMPORTED)
  target_include_directories(LibTorch::c10 SYSTEM INTERFACE
    ${LibTorch_ROOT}/include ${LibTorch_ROOT}/include/torch/csrc/api/include)
  target_compile_definitions(LibTorch::c10 INTERFACE _GLIBCXX_USE_CXX11_ABI=${LibTorch_CXX11_ABI})
  target_link_libraries(LibTorch::c10 INTERFACE LibTorch::lib_c10)
  add_library(LibTorch::torch INTERFACE IMPORTED)
  target_link_libraries(LibTorch::torch INTERFACE LibTorch::c10 LibTorch::lib_torch_cpu)
endif()

# Not for a torch without CUDA.
if(LibTorch_CUDA_INCLUDE AND NOT TARGET LibTorch::cuda)
  add_library(LibTorch::lib_c10_cuda SHARED IMPORTED)
  set_target_properties(LibTorch::lib_c10_cuda PROPERTIES IMPORTED_LOCATION ${LibTorch_ROOT}/lib/libc10_cuda.so)
  add_library(LibTorch::cuda_headers INTERFACE IMPORTED)
  target_include_directories(LibTorch::cuda_headers SYSTEM INTERFACE ${LibTorch_CUDA_INCLUDES})
  add_library(LibTorch::cuda INTERFACE IMPORTED)
  target_link_libraries(LibTorch::cuda INTERFACE LibTorch::c10 LibTorch::lib_c10_cuda LibTorch::cuda_headers)
endif()

# torch.distributed is an option of torch's build. Its headers are there all the same, so ask the library; torch's types are
# left out of the question, since the name of a function does not depend on what it returns.
if(LibTorch_FOUND AND NOT DEFINED LibTorch_HAS_C10D)
  include(CheckCXXSourceCompiles)
  set(CMAKE_REQUIRED_LIBRARIES LibTorch::lib_torch_cpu)
  set(CMAKE_REQUIRED_DEFINITIONS -D_GLIBCXX_USE_CXX11_ABI=${LibTorch_CXX11_ABI})
  set(CMAKE_REQUIRED_LINK_OPTIONS -Wl,--unresolved-symbols=ignore-in-shared-libs)
  check_cxx_source_compiles("
    #include <string>
    namespace c10d { void* resolve_process_group(const std::string&); }
    int main() { return c10d::resolve_process_group(\"\") != nullptr; }" LibTorch_HAS_C10D)
  unset(CMAKE_REQUIRED_LIBRARIES)
  unset(CMAKE_REQUIRED_DEFINITIONS)
  unset(CMAKE_REQUIRED_LINK_OPTIONS)
endif()
