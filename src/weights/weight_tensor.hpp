#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "weights/weight_type.hpp"

namespace pptrain {

/// A tensor of a safetensors file. No dimensions: a single number.
struct WeightTensor {
  std::string name;
  WeightType type = WeightType::f32;
  std::vector<std::int64_t> shape;  ///< row-major, the last dimension contiguous
  bool operator==(const WeightTensor&) const = default;
};

/// The product of the dimensions, which must not overflow.
std::int64_t num_elements(const WeightTensor& tensor);
/// Bytes that the elements take in a file.
std::int64_t stored_bytes(const WeightTensor& tensor);

}  // namespace pptrain
