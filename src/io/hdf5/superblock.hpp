#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

namespace pptrain {

/// What the beginning of an HDF5 file of superblock version 2 or 3 tells.
struct Superblock {
  int version = 0;
  bool open_for_swmr = false;  ///< a single writer has the file in SWMR mode, or was killed in it
};

/// Reads the superblock and checks its checksum, its sizes and its addresses against the file's
/// length, as HDF5 reads a wrong checksum again without an end where it is asked for SWMR mode.
/// Nothing for older versions, which have no checksum, for what begins otherwise and for what
/// cannot be opened: HDF5 judges those itself. Throws `Hdf5Failure`.
std::optional<Superblock> read_superblock(const std::string& path);

/// The checksum of HDF5's metadata: Bob Jenkins' lookup3 with an initial value of 0.
std::uint32_t hdf5_checksum(std::span<const std::byte> bytes);

}  // namespace pptrain
