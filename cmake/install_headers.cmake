# Installs stowage_headers and all that they include under stowage_include/stowage. There "core/units.h" becomes
# "stowage/core/units.h", so that no folder of ours can be taken for one of the project that includes it.
#
# Input: stowage_source, stowage_headers (relative to it), stowage_staging (a folder of the build), stowage_include.
cmake_policy(VERSION 3.25)
file(REMOVE_RECURSE ${stowage_staging})
set(waiting ${stowage_headers})
set(done)
while(waiting)
  list(POP_FRONT waiting header)
  list(APPEND done ${header})
  file(READ ${stowage_source}/${header} text)
  string(REGEX MATCHALL "#include \"[^\"]+\"" includes "${text}")
  foreach(include ${includes})
    string(REGEX REPLACE "#include \"(.*)\"" "\\1" included "${include}")
    if(NOT included IN_LIST done AND NOT included IN_LIST waiting)
      list(APPEND waiting ${included})
    endif()
  endforeach()
  string(REGEX REPLACE "#include \"([^\"]+)\"" "#include \"stowage/\\1\"" text "${text}")
  file(WRITE ${stowage_staging}/stowage/${header} "${text}")
endwhile()
file(INSTALL ${stowage_staging}/stowage DESTINATION ${CMAKE_INSTALL_PREFIX}/${stowage_include})
