#include "data/synthetic_drawings.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

namespace pptrain {
namespace {

/// From -1 at the first of `count` pixels to 1 at the last.
float place(std::int64_t pixel, std::int64_t count) {
  return count == 1 ? 0.0F
                    : 2.0F * static_cast<float>(pixel) / static_cast<float>(count - 1) - 1.0F;
}

}  // namespace

void SyntheticDrawings::row(std::int64_t index, const SampleSlot& slot) const {
  const auto inputs = static_cast<std::size_t>(options_.inputs);
  std::vector<float> numbers(inputs);
  latents_.fill_normal(static_cast<std::uint64_t>(index) * inputs, inputs, numbers.data());
  if (slot.features != nullptr) std::copy(numbers.begin(), numbers.end(), slot.features);
  if (slot.drawing == nullptr) return;
  float* pixel = slot.drawing;
  for (std::int64_t row = 0; row < options_.height; ++row) {
    for (std::int64_t column = 0; column < options_.width; ++column) {
      for (std::size_t c = 0; c < static_cast<std::size_t>(options_.channels); ++c) {
        const auto number = [&](std::size_t i) { return numbers[(3 * c + i) % inputs]; };
        *pixel++ = std::tanh(number(0) + number(1) * place(row, options_.height) +
                             number(2) * place(column, options_.width));
      }
    }
  }
}

}  // namespace pptrain
