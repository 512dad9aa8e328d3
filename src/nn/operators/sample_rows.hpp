#pragma once

#include "tensor/tensor.hpp"

namespace pptrain {

/// The rows of each sample of a dense matrix as one long row, so that parts of a sample are
/// columns. `samples`: not 0.
inline Matrix by_sample(const Matrix& x, std::size_t samples) {
  return {x.data, samples, x.size() / samples, x.type};
}

}  // namespace pptrain
