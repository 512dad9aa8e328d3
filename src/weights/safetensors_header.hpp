#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/interval.hpp"
#include "weights/weight_tensor.hpp"

namespace pptrain {

/// A tensor and where it lies.
struct StoredTensor {
  WeightTensor tensor;
  Interval bytes;  ///< of the file
};

/// Longest header of a safetensors file, in bytes: what the format's own library reads.
inline constexpr std::int64_t max_header_bytes = 100'000'000;

/// The tensors of a safetensors file, in the order of their bytes. The file is 8 bytes with the
/// length of the header, the header in JSON, and the elements of all tensors without gaps.
///
/// Nothing is believed before it is checked: a length or place outside the file, tensors that
/// overlap or leave bytes to none, a shape and a place of different sizes, a shape that overflows,
/// names or keys twice, unknown types and keys, and what is no JSON throw `Error` (exit code 2)
/// with `path` and the tensor.
std::vector<StoredTensor> read_safetensors_header(std::span<const std::byte> file,
                                                  const std::string& path);

}  // namespace pptrain
