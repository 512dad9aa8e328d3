#include "io/samples/stored_images.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace pptrain {
namespace {

constexpr std::int64_t most_pixel_bytes = std::int64_t{1} << 50;  // read block by block
constexpr std::int64_t largest_pixel = 255;
/// What is no whole number from 0 to 255 becomes this, which `StoredImages::check` refuses.
constexpr float no_pixel = HUGE_VALF;

float pixel_of(std::int64_t value) {
  return 0 <= value && value <= largest_pixel ? static_cast<float>(value) / 127.5F - 1.0F
                                              : no_pixel;
}

}  // namespace

void StoredImages::open(const Hdf5Source& source, std::int64_t least) {
  const auto of = [&](Hdf5Expected::Kind kind) {
    return Hdf5Expected{
        kind, {Hdf5Expected::any, shape_.channels, shape_.height, shape_.width}, most_pixel_bytes};
  };
  try {
    images_.emplace(Hdf5Array::Place::dataset, source.file, "images",
                    of(Hdf5Expected::Kind::integer));
    whole_numbers_ = true;
  } catch (const Hdf5Mismatch&) {
    images_.emplace(Hdf5Array::Place::dataset, source.file, "images", of(Hdf5Expected::Kind::real));
  }
  if (count() >= least) return;
  file_.refuse(fmt::format("{} images are too few", count()),
               fmt::format("at least {} are needed", least),
               "name more data, or lower global_batch_size");
}

void StoredImages::check() const {
  const auto bad = first_row_not_finite(count(), shape_.pixels(),
                                        [&](Interval rows, float* pixels) { read(rows, pixels); });
  if (!bad) return;
  if (whole_numbers_) {
    file_.refuse(fmt::format("image {} has a pixel that is not from 0 to {}", *bad, largest_pixel),
                 "whole numbers are pixels of 8 bits",
                 "write floating-point numbers, or correct the file");
  }
  file_.refuse(fmt::format("image {} holds NaN or infinity", *bad),
               "nothing can be learned from it", "correct the file");
}

void StoredImages::read(Interval rows, float* pixels) const {
  if (!whole_numbers_) return images_->rows(rows, pixels);
  std::vector<std::int64_t> values(static_cast<std::size_t>(rows.size() * shape_.pixels()));
  images_->rows(rows, values.data());
  std::transform(values.begin(), values.end(), pixels, pixel_of);
}

std::vector<float> StoredImages::image(std::int64_t index) const {
  std::vector<float> pixels(static_cast<std::size_t>(shape_.pixels()));
  file_.read("image", index, [&] { read({index, index + 1}, pixels.data()); });
  return pixels;
}

}  // namespace pptrain
