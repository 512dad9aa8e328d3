#pragma once

#include "tensor/tensor.hpp"

namespace pptrain::kernels {

/// Fails where a table of angles does not fit the rows and heads of x (`Kernels::rotate`).
void check_rotation(const Matrix& x, std::size_t sequence_length, std::size_t heads,
                    const Matrix& table);

}  // namespace pptrain::kernels
