#include "io/image_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace pptrain {
namespace {

constexpr std::int64_t most_pixel_bytes = std::int64_t{1} << 50;  // read block by block
constexpr std::int64_t most_class_bytes = std::int64_t{1} << 36;  // kept in memory
constexpr std::int64_t largest_pixel = 255;
/// What is no whole number from 0 to 255 becomes this, which `check_images` refuses.
constexpr float no_pixel = HUGE_VALF;

float pixel_of(std::int64_t value) {
  return 0 <= value && value <= largest_pixel ? static_cast<float>(value) / 127.5F - 1.0F : no_pixel;
}

}  // namespace

void order_pixels(const ImageShape& shape, const float* pixels, float* ordered) {
  if (shape.patch == 0) {
    std::copy_n(pixels, shape.pixels(), ordered);
    return;
  }
  for (std::int64_t top = 0; top < shape.height; top += shape.patch) {
    for (std::int64_t left = 0; left < shape.width; left += shape.patch) {
      for (std::int64_t channel = 0; channel < shape.channels; ++channel) {
        for (std::int64_t row = top; row < top + shape.patch; ++row) {
          ordered = std::copy_n(pixels + (channel * shape.height + row) * shape.width + left, shape.patch, ordered);
        }
      }
    }
  }
}

ImageFile::ImageFile(const std::string& path, const ImageFileOptions& options)
    : file_(path, options.source), options_(options) {
  file_.open(
      {"/images and /labels", "both datasets", "use the config.json that belongs to the images, or correct the file"},
      [this] {
        open();
        check_images();
      });
}

void ImageFile::open() {
  const Hdf5Source source = open_to_read(file_.path());
  const ImageShape& image = options_.image;
  const auto of = [&](Hdf5Expected::Kind kind) {
    return Hdf5Expected{kind, {Hdf5Expected::any, image.channels, image.height, image.width}, most_pixel_bytes};
  };
  try {
    images_.emplace(Hdf5Array::Place::dataset, source.file, "images", of(Hdf5Expected::Kind::integer));
    whole_numbers_ = true;
  } catch (const Hdf5Mismatch&) {
    images_.emplace(Hdf5Array::Place::dataset, source.file, "images", of(Hdf5Expected::Kind::real));
  }
  read_labels(source.file);
}

void ImageFile::read_labels(const Hdf5Handle& file) {
  const std::int64_t rows = images_->shape()[0];
  const Hdf5Array labels(Hdf5Array::Place::dataset, file, "labels",
                         {Hdf5Expected::Kind::integer, {rows}, most_class_bytes});
  if (rows < options_.min_rows) {
    file_.refuse(fmt::format("{} images are too few", rows), fmt::format("at least {} are needed", options_.min_rows),
                 "name more data, or lower global_batch_size");
  }
  const std::vector<std::int64_t> values = labels.values<std::int64_t>();
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (0 <= values[i] && values[i] < options_.classes) continue;
    file_.refuse(fmt::format("image {} has label {}", i, values[i]),
                 fmt::format("the model has classes 0 to {}", options_.classes - 1),
                 "use a config.json with that class in id2label, or correct the file");
  }
  labels_.assign(values.begin(), values.end());
}

/// Reads in blocks, so that a large file is never in memory whole.
void ImageFile::check_images() const {
  const std::int64_t block = std::max<std::int64_t>(1, (1 << 20) / options_.image.pixels());
  std::vector<float> pixels;
  for (std::int64_t first = 0; first < num_rows(); first += block) {
    const Interval rows = {first, std::min(first + block, num_rows())};
    pixels.resize(static_cast<std::size_t>(rows.size() * options_.image.pixels()));
    read(rows, pixels.data());
    const auto bad = std::find_if(pixels.begin(), pixels.end(), [](float p) { return !std::isfinite(p); });
    if (bad == pixels.end()) continue;
    const std::int64_t image = first + (bad - pixels.begin()) / options_.image.pixels();
    if (whole_numbers_) {
      file_.refuse(fmt::format("image {} has a pixel that is not from 0 to {}", image, largest_pixel),
                   "whole numbers are pixels of 8 bits", "write floating-point numbers, or correct the file");
    }
    file_.refuse(fmt::format("image {} holds NaN or infinity", image), "nothing can be learned from it",
                 "correct the file");
  }
}

void ImageFile::read(Interval rows, float* pixels) const {
  if (!whole_numbers_) return images_->rows(rows, pixels);
  std::vector<std::int64_t> values(static_cast<std::size_t>(rows.size() * options_.image.pixels()));
  images_->rows(rows, values.data());
  std::transform(values.begin(), values.end(), pixels, pixel_of);
}

void ImageFile::row(std::int64_t index, const SampleSlot& slot) const { fill(index, {}, slot); }

void ImageFile::training_row(std::int64_t index, std::int64_t number, const SampleSlot& slot) const {
  fill(index, number, slot);
}

void ImageFile::fill(std::int64_t index, std::optional<std::int64_t> number, const SampleSlot& slot) const {
  if (slot.targets != nullptr) *slot.targets = labels_[static_cast<std::size_t>(index)];
  if (slot.features == nullptr) return;
  std::vector<float> pixels = image(index);
  if (number && options_.augmentation.changes()) {
    const std::vector<float> stored = pixels;
    options_.augmentation.apply(options_.image, *number, stored.data(), pixels.data());
  }
  order_pixels(options_.image, pixels.data(), slot.features);
}

/// (channel, row, column)
std::vector<float> ImageFile::image(std::int64_t index) const {
  std::vector<float> pixels(static_cast<std::size_t>(options_.image.pixels()));
  file_.read("image", index, [&] { read({index, index + 1}, pixels.data()); });
  return pixels;
}

}  // namespace pptrain
