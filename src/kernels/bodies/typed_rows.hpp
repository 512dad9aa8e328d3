#pragma once

#include "kernels/bodies/row_team.hpp"
#include "tensor/tensor.hpp"

/// Takes matrices, whose type is known when they are computed on, to bodies of one type. C++17.
namespace pptrain::kernels {

/// The rows of a matrix for a body that reads T, or null rows where it has no data.
template <class T>
Rows<const T> read_rows(const Matrix& matrix) {
  return {static_cast<const T*>(matrix.data), matrix.stride};
}

template <class T>
Rows<T> write_rows(const Matrix& matrix) {
  return {static_cast<T*>(matrix.data), matrix.stride};
}

/// f(T()) with the C++ type T of the element type.
template <class F>
void with_type(DType type, const F& f) {
  switch (type) {
    case DType::f32: f(float()); break;
    case DType::bf16: f(BFloat16()); break;
    case DType::f16: f(Half()); break;
  }
}

/// f(T()) with the C++ type T of an element type of 16 bits.
template <class F>
void with_narrow_type(DType type, const F& f) {
  if (type == DType::bf16) {
    f(BFloat16());
  } else {
    f(Half());
  }
}

}  // namespace pptrain::kernels
