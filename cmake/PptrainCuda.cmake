# NVIDIA GPUs. PPTRAIN_CUDA=AUTO builds for them where nvcc is found and a GPU is here or architectures are named; the
# program starts without driver and GPU all the same. Sets PPTRAIN_HAVE_CUDA, PPTRAIN_HAVE_NCCL and PPTRAIN_HAVE_CUDNN.
set(PPTRAIN_CUDA AUTO CACHE STRING "Build for NVIDIA GPUs: AUTO (where nvcc and a GPU are found), ON, OFF")
set(PPTRAIN_NCCL AUTO CACHE STRING "Communicate by NCCL between GPUs: AUTO (where it is found), ON, OFF")
set(PPTRAIN_CUDNN AUTO CACHE STRING "Compute attention by cuDNN on GPUs: AUTO (where it is found), ON, OFF")
set_property(CACHE PPTRAIN_CUDA PPTRAIN_NCCL PPTRAIN_CUDNN PROPERTY STRINGS AUTO ON OFF)
set(PPTRAIN_HAVE_CUDA OFF)

function(_pptrain_find_nvcc)
  if(CMAKE_CUDA_COMPILER OR NOT "$ENV{CUDACXX}" STREQUAL "")
    return()
  endif()
  find_program(PPTRAIN_NVCC nvcc HINTS ENV CUDA_HOME ENV CUDA_PATH PATHS /usr/local/cuda PATH_SUFFIXES bin)
  mark_as_advanced(PPTRAIN_NVCC)
  if(PPTRAIN_NVCC)
    set(CMAKE_CUDA_COMPILER ${PPTRAIN_NVCC} CACHE FILEPATH "CUDA compiler")
  endif()
endfunction()

# The compute capabilities of the GPUs of this machine, such as "90", as its driver says; empty where there is none.
function(_pptrain_find_gpus result)
  execute_process(COMMAND nvidia-smi --query-gpu=compute_cap --format=csv,noheader TIMEOUT 30
    OUTPUT_VARIABLE _answer ERROR_QUIET RESULT_VARIABLE _status)
  set(_found "")
  if(_status EQUAL 0)
    string(REGEX MATCHALL "[0-9]+\\.[0-9]+" _found "${_answer}")
    list(TRANSFORM _found REPLACE "\\." "")
    list(REMOVE_DUPLICATES _found)
  endif()
  set(${result} "${_found}" PARENT_SCOPE)
endfunction()

# Every architecture takes as long as all host code of the back end, so only what is asked for is built: what
# CMAKE_CUDA_ARCHITECTURES or CUDAARCHS names, or else the GPUs that are here. Code for 80, with which ON does without
# either, runs on every later GPU too: the driver translates it when it is first used.
set(_build_cuda ${PPTRAIN_CUDA})
set(_gpus "")
if(_build_cuda AND NOT DEFINED CMAKE_CUDA_ARCHITECTURES AND "$ENV{CUDAARCHS}" STREQUAL "")
  _pptrain_find_gpus(_gpus)
  if(_gpus)
    set(CMAKE_CUDA_ARCHITECTURES "${_gpus}" CACHE STRING "GPU architectures to build for")
  elseif(PPTRAIN_CUDA STREQUAL "AUTO")
    set(_build_cuda OFF)
    message(STATUS "CUDA: no GPU is here; -DPPTRAIN_CUDA=ON builds for those of other machines")
  else()
    set(CMAKE_CUDA_ARCHITECTURES 80 CACHE STRING "GPU architectures to build for")
  endif()
endif()

if(_build_cuda)
  _pptrain_find_nvcc()
  include(CheckLanguage)
  check_language(CUDA)
  if(CMAKE_CUDA_COMPILER)
    set(PPTRAIN_HAVE_CUDA ON)
  elseif(NOT PPTRAIN_CUDA STREQUAL "AUTO")
    message(FATAL_ERROR "PPTRAIN_CUDA=${PPTRAIN_CUDA}, but no working nvcc was found (not in PATH, CUDA_HOME or "
                        "/usr/local/cuda); set CMAKE_CUDA_COMPILER, or PPTRAIN_CUDA=AUTO to build for the host alone")
  endif()
endif()

if(NOT PPTRAIN_HAVE_CUDA)
  message(STATUS "CUDA: no (PPTRAIN_CUDA=${PPTRAIN_CUDA}); pptrain computes on the host")
  return()
endif()

if(PPTRAIN_COMPILER_LAUNCHER AND NOT CMAKE_CUDA_COMPILER_LAUNCHER)
  set(CMAKE_CUDA_COMPILER_LAUNCHER ${PPTRAIN_COMPILER_LAUNCHER})
endif()
set(CMAKE_CUDA_RUNTIME_LIBRARY Shared)
enable_language(CUDA)
set(CMAKE_CUDA_STANDARD 17)  # 20 is silently ignored by CMake 3.25
set(CMAKE_CUDA_STANDARD_REQUIRED ON)
set(CMAKE_CUDA_EXTENSIONS OFF)
set(CMAKE_CUDA_FLAGS_RELEASE "-O3")
find_package(CUDAToolkit REQUIRED)
foreach(_library IN ITEMS NCCL cuDNN)
  string(TOUPPER ${_library} _name)
  if(PPTRAIN_${_name})  # AUTO is not false either
    find_package(${_library})
  endif()
  if(PPTRAIN_${_name} AND NOT PPTRAIN_${_name} STREQUAL "AUTO" AND NOT ${_library}_FOUND)
    message(FATAL_ERROR "PPTRAIN_${_name}=${PPTRAIN_${_name}}, but ${_library} was not found; name its folder in "
                        "${_library}_ROOT, or set PPTRAIN_${_name}=OFF")
  endif()
  if(NOT ${_library}_FOUND)
    set(${_library}_VERSION "no")
  endif()
  set(PPTRAIN_HAVE_${_name} ${${_library}_FOUND})
endforeach()
message(STATUS "CUDA: ${CUDAToolkit_VERSION}, architectures ${CMAKE_CUDA_ARCHITECTURES}; "
               "NCCL: ${NCCL_VERSION}; cuDNN: ${cuDNN_VERSION}")
