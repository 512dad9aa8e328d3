#include "weights/weight_tensor.hpp"

#include <functional>
#include <numeric>

namespace pptrain {

std::int64_t num_elements(const WeightTensor& tensor) {
  return std::accumulate(tensor.shape.begin(), tensor.shape.end(), std::int64_t{1},
                         std::multiplies<>());
}

std::int64_t stored_bytes(const WeightTensor& tensor) {
  return num_elements(tensor) * bits_of(tensor.type) / 8;
}

}  // namespace pptrain
