#include "io/samples/image_file.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace pptrain {
namespace {

constexpr std::int64_t most_class_bytes = std::int64_t{1} << 36;  // kept in memory

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
          ordered = std::copy_n(pixels + (channel * shape.height + row) * shape.width + left,
                                shape.patch, ordered);
        }
      }
    }
  }
}

ImageFile::ImageFile(const std::string& path, const ImageFileOptions& options)
    : file_(path, options.source), options_(options), images_(file_, options.image) {
  file_.open({"/images and /labels", "both datasets",
              "use the config.json that belongs to the images, or correct the file"},
             [this] {
               open();
               images_.check();
             });
}

void ImageFile::open() {
  const Hdf5Source source = open_to_read(file_.path());
  images_.open(source, options_.min_rows);
  read_labels(source.file);
}

void ImageFile::read_labels(const Hdf5Handle& file) {
  const std::int64_t rows = images_.count();
  const Hdf5Array labels(Hdf5Array::Place::dataset, file, "labels",
                         {Hdf5Expected::Kind::integer, {rows}, most_class_bytes});
  const std::vector<std::int64_t> values = labels.values<std::int64_t>();
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (0 <= values[i] && values[i] < options_.classes) continue;
    file_.refuse(fmt::format("image {} has label {}", i, values[i]),
                 fmt::format("the model has classes 0 to {}", options_.classes - 1),
                 "use a config.json with that class in id2label, or correct the file");
  }
  labels_.assign(values.begin(), values.end());
}

void ImageFile::row(std::int64_t index, const SampleSlot& slot) const { fill(index, {}, slot); }

void ImageFile::training_row(std::int64_t index, std::int64_t number,
                             const SampleSlot& slot) const {
  fill(index, number, slot);
}

void ImageFile::fill(std::int64_t index, std::optional<std::int64_t> number,
                     const SampleSlot& slot) const {
  if (slot.targets != nullptr) *slot.targets = labels_[static_cast<std::size_t>(index)];
  if (slot.features == nullptr) return;
  std::vector<float> pixels = images_.image(index);
  if (number && options_.augmentation.changes()) {
    const std::vector<float> stored = pixels;
    options_.augmentation.apply(options_.image, *number, stored.data(), pixels.data());
  }
  order_pixels(options_.image, pixels.data(), slot.features);
}

}  // namespace pptrain
