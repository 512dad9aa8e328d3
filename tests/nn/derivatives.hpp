#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <functional>

#include "plain_layers.hpp"

namespace pptrain::test {

/// Largest error relative to the largest value: fp32 against double.
inline double error(const float* values, const Values& expected) {
  double largest = 0.0, difference = 0.0;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    largest = std::max(largest, std::abs(expected[i]));
    const double d = std::abs(values[i] - expected[i]);
    difference = d <= difference ? difference : d;  // a NaN stays
  }
  return difference / std::max(largest, 1e-12);
}

/// Derivative of `loss` by each element of `x`, which it reads: central differences.
inline Values derivative(Values& x, const std::function<double()>& loss) {
  constexpr double h = 1e-5;
  Values result(x.size());
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double middle = x[i];
    x[i] = middle + h;
    const double above = loss();
    x[i] = middle - h;
    const double below = loss();
    x[i] = middle;
    result[i] = (above - below) / (2.0 * h);
  }
  return result;
}

}  // namespace pptrain::test
