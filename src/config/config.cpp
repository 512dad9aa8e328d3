#include "config/config.hpp"

namespace pptrain {

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

bool Config::can_train_model() const { return model.name == "gpt2"; }

std::string Config::where(const std::string& key) const {
  const auto place = places.find(key);
  return place != places.end() ? place->second : source;
}

}  // namespace pptrain
