#pragma once

#include <cmath>

#include "base/bfloat16.hpp"

namespace pptrain::kernels::bodies {

/// Weight of a pixel whose centre is `distance` pixels away (Keys, "Cubic convolution
/// interpolation", 1981, Eq. 4).
PPTRAIN_FUNCTION inline float cubic_weight(float distance) {
  constexpr float a = -0.75f;
  const float d = std::fabs(distance);
  if (d <= 1.0f) return ((a + 2.0f) * d - (a + 3.0f)) * d * d + 1.0f;
  return d < 2.0f ? ((a * d - 5.0f * a) * d + 8.0f * a) * d - 4.0f * a : 0.0f;
}

/// The pixels of a line that pixel `i` of one of twice the length is made from, and their weights.
/// The centre of pixel `i` is at (i + 0.5) / 2 - 0.5 of the line; what lies beyond an edge is the
/// edge's pixel.
struct CubicTaps {
  int pixel[4];
  float weight[4];

  PPTRAIN_FUNCTION CubicTaps(int i, int length) {
    const float centre = (static_cast<float>(i) + 0.5f) / 2.0f - 0.5f;
    const int before = static_cast<int>(std::floor(centre));
    for (int k = 0; k < 4; ++k) {
      const int at = before - 1 + k;
      pixel[k] = at < 0 ? 0 : at < length ? at : length - 1;
      weight[k] = cubic_weight(centre - static_cast<float>(at));
    }
  }
};

}  // namespace pptrain::kernels::bodies
