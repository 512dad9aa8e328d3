#pragma once

#include <cstddef>

#include "base/bfloat16.hpp"

namespace pptrain::kernels {

/// A row-major array; `stride` elements from one row to the next.
template <class T>
struct Rows {
  T* data = nullptr;
  std::size_t stride = 0;

  PPTRAIN_FUNCTION T* row(std::size_t r) const { return data + r * stride; }
};

/// Threads that work on one row together: on the host one, with vector lanes. A CUDA block offers
/// the same members.
///
/// Row bodies are called as body(team, row). Between two calls of `for_each` or a reduction, an
/// element is always visited by the same member, so what one wrote there the next may read.
class SerialTeam {
 public:
  /// f(i) for i in [0, n), in any order.
  template <class F>
  void for_each(std::size_t n, const F& f) const {
#pragma omp simd
    for (std::size_t i = 0; i < n; ++i) f(i);
  }

  /// f() by one member, after what all members did before.
  template <class F>
  void once(const F& f) const {
    f();
  }

  /// The sum of f(i) in an order that depends on n alone. NaN if any is. f may write, once per i.
  template <class F>
  float sum(std::size_t n, const F& f) const {
    const std::size_t quarter = stream_length(n);
    float a = 0, b = 0, c = 0, d = 0, rest = 0;
#pragma omp simd reduction(+ : a, b, c, d)
    for (std::size_t i = 0; i < quarter; ++i) {
      a += f(i);
      b += f(i + quarter);
      c += f(i + 2 * quarter);
      d += f(i + 3 * quarter);
    }
#pragma omp simd reduction(+ : rest)
    for (std::size_t i = 4 * quarter; i < n; ++i) rest += f(i);
    return ((a + b) + (c + d)) + rest;
  }

  /// The largest f(i), which skips NaNs; -infinity when there is none.
  template <class F>
  float max(std::size_t n, const F& f) const {
    const std::size_t quarter = stream_length(n);
    float a = -__builtin_huge_valf(), b = a, c = a, d = a, rest = a;
#pragma omp simd reduction(max : a, b, c, d)
    for (std::size_t i = 0; i < quarter; ++i) {
      a = larger(a, f(i));
      b = larger(b, f(i + quarter));
      c = larger(c, f(i + 2 * quarter));
      d = larger(d, f(i + 3 * quarter));
    }
#pragma omp simd reduction(max : rest)
    for (std::size_t i = 4 * quarter; i < n; ++i) rest = larger(rest, f(i));
    return larger(larger(larger(a, b), larger(c, d)), rest);
  }

 private:
  /// Long reductions run in four streams of whole vectors, since one vector of sums waits for its
  /// own latency; for short ones adding up the vectors costs more. 0: short.
  static std::size_t stream_length(std::size_t n) {
    constexpr std::size_t lanes = 16;  // a multiple of any vector's floats
    return n < 192 ? 0 : n / (4 * lanes) * lanes;
  }

  static float larger(float most, float value) { return value > most ? value : most; }
};

}  // namespace pptrain::kernels
