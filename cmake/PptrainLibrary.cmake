# A compiler spends more time on the headers of a file than on the file. Files of one folder are compiled several at a time
# (a unity build), and tests read the headers that all of them need from one precompiled header.
option(PPTRAIN_UNITY "Compile several files at a time: a whole build is faster, one after a change of one file slower" ON)
set(PPTRAIN_UNITY_FILES 16)  # more leave the cores of a small machine unequal work

# pptrain_unity(TARGET ...): compiles the files of each target several at a time.
function(pptrain_unity)
  set_target_properties(${ARGN} PROPERTIES UNITY_BUILD ${PPTRAIN_UNITY} UNITY_BUILD_BATCH_SIZE ${PPTRAIN_UNITY_FILES})
endfunction()

# pptrain_compile_quickly(TARGET ...): optimises the targets little, for a program that is there sooner: they spend their
# time waiting for files, messages and the targets that compute.
function(pptrain_compile_quickly)
  foreach(_target IN LISTS ARGN)
    target_compile_options(${_target} PRIVATE $<$<AND:$<COMPILE_LANGUAGE:CXX>,$<CONFIG:Release>>:-O1>)
  endforeach()
endfunction()

# pptrain_library(FOLDER [LINK ...]): one library pptrain::FOLDER from all .cpp files in src/FOLDER.
function(pptrain_library folder)
  cmake_parse_arguments(ARG "" "" "LINK" ${ARGN})
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/${folder}/*.cpp)
  if(sources)
    add_library(pptrain_${folder} STATIC ${sources})
    target_link_libraries(pptrain_${folder} PUBLIC pptrain_flags ${ARG_LINK})
    pptrain_unity(pptrain_${folder})
  else()
    add_library(pptrain_${folder} INTERFACE)
    target_link_libraries(pptrain_${folder} INTERFACE pptrain_flags ${ARG_LINK})
  endif()
  add_library(pptrain::${folder} ALIAS pptrain_${folder})
endfunction()
