# Builds and runs examples/placement as a project of somebody else, in the folder WORK.
#
# WAY is "installed": from BUILD installed under a prefix, which is moved then, so that nothing can point back; or
# "embedded": with the checkout SOURCE as a folder of that project.
cmake_policy(VERSION 3.25)

# Ends the test unless the command succeeds; what it says is in `output`.
macro(run)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE status OUTPUT_VARIABLE output ERROR_VARIABLE output)
  if(NOT status EQUAL 0)
    message(FATAL_ERROR "${ARGN} ended with ${status}:\n${output}")
  endif()
endmacro()

# Ends the test unless the text has the pattern.
function(expect text pattern)
  if(NOT text MATCHES "${pattern}")
    message(FATAL_ERROR "\"${pattern}\" is not in:\n${text}")
  endif()
endfunction()

file(REMOVE_RECURSE ${WORK}/prefix ${WORK}/moved ${WORK}/project)
set(options -G ${GENERATOR} -DCMAKE_CXX_COMPILER=${COMPILER} -DCMAKE_BUILD_TYPE=Debug -DCMAKE_CXX_FLAGS_DEBUG=-O0)
if(LAUNCHER)
  list(APPEND options -DCMAKE_CXX_COMPILER_LAUNCHER=${LAUNCHER})
  set(ENV{CCACHE_NOHASHDIR} 1)
endif()

if(WAY STREQUAL "installed")
  run(${CMAKE_COMMAND} --install ${BUILD} --component development --prefix ${WORK}/prefix)
  file(RENAME ${WORK}/prefix ${WORK}/moved)
  list(APPEND options -DCMAKE_PREFIX_PATH=${WORK}/moved)
  file(GLOB_RECURSE installed ${WORK}/moved/*)
  foreach(file ${installed})
    file(STRINGS ${file} foreign REGEX "${WORK}/prefix|find_package\\((Torch|CUDA)|include [<\"](core|planner|torch|cuda)")
    if(file MATCHES "\\.(h|cmake)$" AND foreign)
      message(FATAL_ERROR "${file} is not of a package that can be moved and needs only itself: ${foreign}")
    endif()
  endforeach()
else()
  list(APPEND options -DSTOWAGE_SOURCE=${SOURCE})
endif()

run(${CMAKE_COMMAND} -S ${SOURCE}/examples/placement -B ${WORK}/build --fresh ${options})
run(${CMAKE_COMMAND} --build ${WORK}/build --parallel 2)
run(${WORK}/build/placement_example ${SOURCE}/examples/placement/buffers.csv)
expect("${output}" "built in code\n  height 3072, at least 3072: proved least\n  buffer 0  .0, 4.   2048 bytes at ")
expect("${output}" "in 2,560 bytes\n  does not fit; neither do these alone: 0 1\n")
expect("${output}" "fixed at 4,096\n  height 5120, .*buffer 1  .1, 6.   1024 bytes at  4096\n")
expect("${output}" "buffers.csv\n  height 18432, at least 18432: proved least\n.*buffer 4 ")

# What cannot be read is said in one line, and the exit status says so too.
execute_process(COMMAND ${WORK}/build/placement_example ${WORK}/absent.csv RESULT_VARIABLE status ERROR_VARIABLE output
  OUTPUT_QUIET)
expect("${status}" "^1$")
expect("${output}" "absent.csv")
