#include "model/families/images.hpp"

#include <fmt/format.h>

namespace pptrain {
namespace {

constexpr std::int64_t usual_side = 224;
constexpr std::int64_t largest_image_side = 16384;
constexpr std::int64_t most_colours = 1024;

}  // namespace

ImageShape image_shape(const ConfigJson& config, std::int64_t job_side) {
  const bool says = config.has("image_size");
  const std::int64_t side = config.size("image_size", job_side > 0 ? job_side : usual_side);
  if (says && job_side > 0 && side != job_side) {
    config.refuse("image_size", fmt::format("images of {0} x {0} pixels", side),
                  fmt::format("[model] image_size = {} says something else", job_side),
                  "leave [model] image_size out");
  }
  if (side > largest_image_side) {
    config.refuse("image_size", fmt::format("images of {0} x {0} pixels", side),
                  fmt::format("at most {} a side can be read", largest_image_side),
                  "correct image_size");
  }
  return {config.size("num_channels", 3, most_colours), side, side, 1};
}

std::int64_t num_classes(const ConfigJson& config) {
  constexpr std::int64_t usual = 2;
  const std::int64_t labels = config.size("num_labels", usual);
  const std::int64_t classes = config.num_entries("id2label", labels);
  if (!config.has("num_labels") || labels == classes) return classes;
  config.refuse("num_labels", fmt::format("is {}", labels),
                fmt::format("id2label names {} classes", classes), "keep one of them");
}

}  // namespace pptrain
