# Everything pptrain links to. Nothing is downloaded.
find_package(Threads REQUIRED)
find_package(fmt REQUIRED)
find_package(spdlog REQUIRED)
find_package(nlohmann_json REQUIRED)
find_package(tomlplusplus REQUIRED)
find_path(RANDOM123_INCLUDE Random123/philox.h REQUIRED)
if(PPTRAIN_FUZZ)
  return()  # the pure libraries need no more
endif()
find_package(CLI11 REQUIRED)
find_package(MPI REQUIRED COMPONENTS CXX)
find_package(OpenMP REQUIRED COMPONENTS CXX)
set(HDF5_PREFER_PARALLEL ON)
find_package(HDF5 REQUIRED COMPONENTS C)

find_package(Kokkos REQUIRED)
# Debian's Kokkos names an include directory that does not exist; its headers are Trilinos'.
find_path(PPTRAIN_KOKKOS_INCLUDE Kokkos_Core.hpp HINTS ${Kokkos_INCLUDE_DIRS} PATHS /usr/include/trilinos)
foreach(_target IN ITEMS Kokkos::kokkos Kokkos::kokkoscore)
  if(TARGET ${_target})
    get_target_property(_directories ${_target} INTERFACE_INCLUDE_DIRECTORIES)
    foreach(_directory IN LISTS _directories)
      if(NOT _directory MATCHES "^\\$<" AND NOT EXISTS "${_directory}/Kokkos_Core.hpp")
        set_target_properties(${_target} PROPERTIES INTERFACE_INCLUDE_DIRECTORIES "${PPTRAIN_KOKKOS_INCLUDE}")
      endif()
    endforeach()
  endif()
endforeach()

find_package(PkgConfig REQUIRED)
pkg_check_modules(HWLOC REQUIRED IMPORTED_TARGET hwloc)
pkg_check_modules(XXHASH REQUIRED IMPORTED_TARGET libxxhash)
pkg_check_modules(SENTENCEPIECE REQUIRED IMPORTED_TARGET sentencepiece)

# Matrix products: oneDNN, OpenBLAS, or both (see src/kernels/gemm.hpp).
# Debian's package configuration for oneDNN wants OpenCL, so it is found by hand.
find_path(PPTRAIN_ONEDNN_INCLUDE dnnl.h)
find_library(PPTRAIN_ONEDNN dnnl)
find_path(PPTRAIN_CBLAS_INCLUDE cblas.h PATH_SUFFIXES openblas openblas-pthread)
find_library(PPTRAIN_OPENBLAS openblas PATH_SUFFIXES openblas-pthread)
if(NOT PPTRAIN_ONEDNN AND NOT PPTRAIN_OPENBLAS)
  message(FATAL_ERROR "Neither oneDNN nor OpenBLAS was found: install one of them (libdnnl-dev, libopenblas-dev)")
endif()

# Draws the charts of `pptrain report` (versions 4 to 7). Without it reports have tables alone.
find_file(PPTRAIN_D3 d3.min.js PATHS /usr/share/nodejs/d3/dist DOC "d3.min.js, for the charts of reports")
set(PPTRAIN_D3_OR_NONE ${PPTRAIN_D3})
if(NOT PPTRAIN_D3)
  set(PPTRAIN_D3_OR_NONE -)
  message(STATUS "d3.min.js was not found (Debian: node-d3; or give -DPPTRAIN_D3=FILE): reports will have no charts")
endif()
