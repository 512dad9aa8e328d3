# Compiler settings shared by every target.
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "" FORCE)
endif()
# -O2 without vector width costs 7-13x in the kernels, so optimise fully by default.
set(CMAKE_CXX_FLAGS_RELEASE "-O3")

# Paths below the source folder do not count, so that one cache serves every clone.
find_program(PPTRAIN_CCACHE ccache DOC "ccache, by which compilations are cached, or OFF")
if(PPTRAIN_CCACHE)
  set(PPTRAIN_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env CCACHE_BASEDIR=${PROJECT_SOURCE_DIR} CCACHE_NOHASHDIR=1
    CCACHE_SLOPPINESS=include_file_mtime,include_file_ctime,pch_defines,time_macros ${PPTRAIN_CCACHE})
endif()
if(PPTRAIN_COMPILER_LAUNCHER AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${PPTRAIN_COMPILER_LAUNCHER})
endif()

add_library(pptrain_flags INTERFACE)
target_include_directories(pptrain_flags INTERFACE ${PROJECT_SOURCE_DIR}/src ${PROJECT_BINARY_DIR}/generated)
# Nobody reads floating-point exception flags or errno; without these two the compiler keeps branches
# in loops over floats and does not vectorise them. NaN and infinity behave as ever.
set(_cxx_flags -Wall -Wextra -fopenmp-simd -fno-trapping-math -fno-math-errno)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  # GCC 12 sees overlaps in std::string that are not there (GCC bug 105651).
  list(APPEND _cxx_flags -Wno-restrict)
endif()
if(PPTRAIN_ARCH)
  list(APPEND _cxx_flags -march=${PPTRAIN_ARCH})
endif()
# A name of one file may hide a constant of another that is compiled with it.
if(NOT PPTRAIN_UNITY)
  list(APPEND _cxx_flags -Wshadow)
elseif(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  list(APPEND _cxx_flags -Wshadow=local)
endif()
# 1675: a GCC pragma that nvcc passes on
set(_cuda_flags -Xcompiler=-Wall,-Wextra,-fopenmp-simd -diag-suppress=1675)
if(PPTRAIN_WARNINGS_AS_ERRORS)
  list(APPEND _cxx_flags -Werror)
  list(APPEND _cuda_flags -Werror=all-warnings -Xcompiler=-Werror)
endif()
target_compile_options(pptrain_flags INTERFACE
  "$<$<COMPILE_LANGUAGE:C,CXX>:${_cxx_flags}>" "$<$<COMPILE_LANGUAGE:CUDA>:${_cuda_flags}>")
if(PPTRAIN_SANITIZE)
  target_compile_options(pptrain_flags INTERFACE
    "$<$<COMPILE_LANGUAGE:C,CXX>:-fsanitize=${PPTRAIN_SANITIZE};-fno-omit-frame-pointer>")
  target_link_options(pptrain_flags INTERFACE -fsanitize=${PPTRAIN_SANITIZE})
endif()
if(PPTRAIN_FUZZ)
  if(NOT CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
    message(FATAL_ERROR "PPTRAIN_FUZZ needs clang: its libFuzzer watches which branches an input takes "
                        "(-DCMAKE_C_COMPILER=clang -DCMAKE_CXX_COMPILER=clang++, or ./bootstrap.sh fuzz)")
  endif()
  set(_fuzz -fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer)
  target_compile_options(pptrain_flags INTERFACE ${_fuzz})
  target_link_options(pptrain_flags INTERFACE ${_fuzz})
endif()
