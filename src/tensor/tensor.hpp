#pragma once

#include <cstddef>
#include <cstdint>

#include "base/bfloat16.hpp"
#include "base/half.hpp"
#include "tensor/arena.hpp"

namespace pptrain {

/// Element types of device buffers. Arithmetic is always fp32.
enum class DType { f32, bf16, f16 };

/// The type of elements that are float or BFloat16 in C++; there is none for others.
template <class T>
constexpr DType dtype_of();
template <>
constexpr DType dtype_of<float>() {
  return DType::f32;
}
template <>
constexpr DType dtype_of<BFloat16>() {
  return DType::bf16;
}

constexpr std::size_t size_of(DType type) { return type == DType::f32 ? 4 : 2; }

/// A row-major matrix that somebody else owns; `stride` elements from one row to the next.
struct Matrix {
  void* data = nullptr;
  std::size_t rows = 0;
  std::size_t columns = 0;
  std::size_t stride = 0;
  DType type = DType::f32;

  Matrix() = default;
  Matrix(void* d, std::size_t r, std::size_t c, DType t = DType::f32) : Matrix(d, r, c, c, t) {}
  Matrix(void* d, std::size_t r, std::size_t c, std::size_t s, DType t)
      : data(d), rows(r), columns(c), stride(s), type(t) {}

  /// Element (row, column) as T, which must be the matrix's element type.
  template <class T>
  T* at(std::size_t row, std::size_t column = 0) const {
    return static_cast<T*>(data) + row * stride + column;
  }
  /// First element as float, which must be the type; it is not checked.
  float* f32() const { return static_cast<float*>(data); }
  /// Elements, without the gaps between rows.
  std::size_t size() const { return rows * columns; }

  /// `count` columns from `first`, sharing the memory.
  Matrix columns_from(std::size_t first, std::size_t count) const {
    return {static_cast<std::byte*>(data) + first * size_of(type), rows, count, stride, type};
  }
  /// `count` rows from `first`, sharing the memory.
  Matrix rows_from(std::size_t first, std::size_t count) const {
    return {static_cast<std::byte*>(data) + first * stride * size_of(type), count, columns, stride,
            type};
  }
};

/// A contiguous matrix in an arena.
class Tensor {
 public:
  Tensor() = default;
  Tensor(Arena& arena, std::size_t rows, std::size_t columns, DType type = DType::f32)
      : buffer_(arena, rows * columns * size_of(type)),
        matrix_(buffer_.data(), rows, columns, type) {}

  operator const Matrix&() const { return matrix_; }
  /// The memory as a matrix, for as long as this tensor has it.
  const Matrix& matrix() const { return matrix_; }
  /// First element as float, which must be the type; it is not checked.
  float* f32() const { return matrix_.f32(); }
  std::size_t rows() const { return matrix_.rows; }
  std::size_t columns() const { return matrix_.columns; }
  std::size_t size() const { return matrix_.size(); }
  /// Bytes of the elements; 0 without memory.
  std::size_t bytes() const { return buffer_.bytes(); }
  /// Whether there is memory, be it for 0 elements.
  explicit operator bool() const { return static_cast<bool>(buffer_); }
  /// Gives the memory back to the arena; rows and columns become 0.
  void reset() {
    buffer_.reset();
    matrix_ = {};
  }

 private:
  Buffer buffer_;
  Matrix matrix_;
};

}  // namespace pptrain
