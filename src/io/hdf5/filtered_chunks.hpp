#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "io/hdf5/hdf5.hpp"

namespace pptrain {

/// Unpacks every chunk of a dataset with filters and compares its length with that of a chunk:
/// HDF5 1.10 reads on behind the end of one that is shorter, and takes memory without a limit for
/// one that is longer. The filters may be deflate, shuffle before it, and fletcher32. `chunk` has
/// the extents of a chunk, `element_bytes` the size of a value in the file, `file_bytes` the file's
/// length. Throws `Hdf5Failure`.
void check_filtered_chunks(const Hdf5Handle& dataset, const std::string& name,
                           const std::vector<std::int64_t>& chunk, std::int64_t element_bytes,
                           std::int64_t file_bytes);

}  // namespace pptrain
