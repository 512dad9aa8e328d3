#pragma once

#include <string>

namespace pptrain {

/// How messages of a GPU's memory go over MPI.
enum class MessagePath {
  by_host,  ///< copied to and from memory of the host
  direct,   ///< MPI takes pointers to the GPU's memory itself
};

/// What MPI can do, and how that is known.
struct MpiDeviceMemory {
  MessagePath path = MessagePath::by_host;
  std::string reason;
};

/// Asks the MPI that the program runs with. With Open MPI, `--mca opal_cuda_support 0` (5: `--mca
/// accelerator null`) makes it say no.
MpiDeviceMemory mpi_device_memory();

}  // namespace pptrain
