#include "config/config.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace pptrain {

std::string to_string(GradientPrecision precision) { return precision == GradientPrecision::fp32 ? "fp32" : "bf16"; }

std::string to_string(Precision precision) {
  switch (precision) {
    case Precision::fp32: return "fp32";
    case Precision::bf16: return "bf16";
    case Precision::fp16: return "fp16";
  }
  return "";
}

std::string to_string(Recompute recompute) {
  switch (recompute) {
    case Recompute::none: return "none";
    case Recompute::selective: return "selective";
    case Recompute::full: return "full";
  }
  return "";
}

const std::vector<std::string>& trainable_models() {
  static const std::vector<std::string> names = {"gpt2", "mlp-classifier"};
  return names;
}

std::int64_t LayerConfig::rotated_columns(std::int64_t hidden) const {
  return rotary_theta > 0.0 ? std::llround(rotary_share * static_cast<double>(head_columns(hidden))) : 0;
}

std::string ModelConfig::layers_text() const {
  return is_classifier() ? fmt::format("it has {} ({} dense layers, classifier)", num_layers(), layers)
                         : fmt::format("it has {} (embedding, {} blocks, output)", num_layers(), layers);
}

bool Config::can_train_model() const {
  if (!model.names_dimensions()) return true;
  const std::vector<std::string>& names = trainable_models();
  return std::find(names.begin(), names.end(), model.name) != names.end();
}

std::string Config::where(const std::string& key) const {
  const auto place = places.find(key);
  return place != places.end() ? place->second : source;
}

}  // namespace pptrain
