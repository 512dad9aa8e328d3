#include "io/samples/image_augmentation.hpp"

#include "base/random.hpp"

namespace pptrain {
namespace {

// Numbers that are drawn for a sample.
enum Draw : std::uint64_t { down, right, mirrored, num_draws };

}  // namespace

void ImageAugmentation::apply(const ImageShape& shape, std::int64_t number, const float* pixels,
                              float* changed) const {
  const CounterRandom random(seed, "data.augmentation");
  const auto bits = [&](Draw draw) {
    return random.bits(static_cast<std::uint64_t>(number) * num_draws + draw);
  };
  const auto shift = [&](Draw draw) {
    return static_cast<std::int64_t>(bits(draw) %
                                     static_cast<std::uint64_t>(2 * crop_padding + 1)) -
           crop_padding;
  };
  const std::int64_t down_by = shift(down), right_by = shift(right);
  const bool is_mirrored = flip && bits(mirrored) % 2 == 1;
  for (std::int64_t channel = 0; channel < shape.channels; ++channel) {
    for (std::int64_t row = 0; row < shape.height; ++row) {
      for (std::int64_t column = 0; column < shape.width; ++column) {
        const std::int64_t from_row = row + down_by;
        const std::int64_t from_column =
            (is_mirrored ? shape.width - 1 - column : column) + right_by;
        const bool is_inside = 0 <= from_row && from_row < shape.height && 0 <= from_column &&
                               from_column < shape.width;
        *changed++ = is_inside
                         ? pixels[(channel * shape.height + from_row) * shape.width + from_column]
                         : 0.0F;
      }
    }
  }
}

}  // namespace pptrain
