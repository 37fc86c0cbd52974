# Asks Python where the installed torch and the CUDA headers of its wheels are. No CUDA toolkit is needed.
#
# Input: Python3_EXECUTABLE or STOWAGE_PYTHON (default: .venv/bin/python, else python3).
# Result: LibTorch_FOUND, LibTorch_VERSION, targets LibTorch::c10, LibTorch::torch (c10, torch, torch_cpu),
#   LibTorch::cuda (c10_cuda; headers cuda.h and cuda_runtime_api.h) and LibTorch::cuda_headers.
if(NOT STOWAGE_PYTHON)
  if(EXISTS ${PROJECT_SOURCE_DIR}/.venv/bin/python)
    set(STOWAGE_PYTHON ${PROJECT_SOURCE_DIR}/.venv/bin/python)
  else()
    find_program(STOWAGE_PYTHON NAMES python3 python)
  endif()
endif()

execute_process(
  COMMAND ${STOWAGE_PYTHON} ${CMAKE_CURRENT_LIST_DIR}/locate_torch.py
  OUTPUT_VARIABLE located RESULT_VARIABLE located_status OUTPUT_STRIP_TRAILING_WHITESPACE)
if(located_status EQUAL 0)
  list(GET located 0 LibTorch_VERSION)
  list(GET located 1 LibTorch_ROOT)
  list(GET located 2 LibTorch_CXX11_ABI)
  list(GET located 3 LibTorch_CUDA_INCLUDES)
  string(REPLACE ":" ";" LibTorch_CUDA_INCLUDES ${LibTorch_CUDA_INCLUDES})
  list(GET LibTorch_CUDA_INCLUDES 0 LibTorch_CUDA_INCLUDE)  # where the runtime's headers are
else()
  message(FATAL_ERROR "the build needs torch and CUDA's headers (see above)")
endif()

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(LibTorch REQUIRED_VARS LibTorch_ROOT LibTorch_CUDA_INCLUDE
  VERSION_VAR LibTorch_VERSION)

if(LibTorch_FOUND AND NOT TARGET LibTorch::c10)
  foreach(name c10 torch torch_cpu c10_cuda)
    add_library(LibTorch::lib_${name} SHARED IMPORTED)
    set_target_properties(LibTorch::lib_${name} PROPERTIES
      IMPORTED_LOCATION ${LibTorch_ROOT}/lib/lib${name}.so)
  endforeach()
  add_library(LibTorch::cuda_headers INTERFACE IMPORTED)
  target_include_directories(LibTorch::cuda_headers SYSTEM INTERFACE ${LibTorch_CUDA_INCLUDES})
  add_library(LibTorch::c10 INTERFACE IMPORTED)
  target_include_directories(LibTorch::c10 SYSTEM INTERFACE
    ${LibTorch_ROOT}/include ${LibTorch_ROOT}/include/torch/csrc/api/include)
  target_compile_definitions(LibTorch::c10 INTERFACE _GLIBCXX_USE_CXX11_ABI=${LibTorch_CXX11_ABI})
  target_link_libraries(LibTorch::c10 INTERFACE LibTorch::lib_c10)
  add_library(LibTorch::torch INTERFACE IMPORTED)
  target_link_libraries(LibTorch::torch INTERFACE LibTorch::c10 LibTorch::lib_torch_cpu)
  add_library(LibTorch::cuda INTERFACE IMPORTED)
  target_link_libraries(LibTorch::cuda INTERFACE LibTorch::c10 LibTorch::lib_c10_cuda LibTorch::cuda_headers)
endif()
