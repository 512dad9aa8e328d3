#include "config/config.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace pptrain {

std::string to_string(Precision precision) { return precision_names().name_of(precision); }

std::string to_string(GradientPrecision precision) {
  return gradient_precision_names().name_of(precision);
}

std::string to_string(Recompute recompute) { return recompute_names().name_of(recompute); }

const NameTable<Precision>& precision_names() {
  static const NameTable<Precision> names = {
      {Precision::fp32, "fp32"}, {Precision::bf16, "bf16"}, {Precision::fp16, "fp16"}};
  return names;
}

const NameTable<GradientPrecision>& gradient_precision_names() {
  static const NameTable<GradientPrecision> names = {{GradientPrecision::fp32, "fp32"},
                                                     {GradientPrecision::bf16, "bf16"}};
  return names;
}

const NameTable<Recompute>& recompute_names() {
  static const NameTable<Recompute> names = {
      {Recompute::none, "none"}, {Recompute::selective, "selective"}, {Recompute::full, "full"}};
  return names;
}

const NameTable<LrSchedule>& lr_schedule_names() {
  static const NameTable<LrSchedule> names = {{LrSchedule::constant, "constant"},
                                              {LrSchedule::linear, "linear"},
                                              {LrSchedule::cosine, "cosine"},
                                              {LrSchedule::wsd, "wsd"},
                                              {LrSchedule::step, "step"}};
  return names;
}

const NameTable<Experts>& experts_names() {
  static const NameTable<Experts> names = {{Experts::chosen, "auto"},
                                           {Experts::columns, "columns"},
                                           {Experts::whole, "whole"},
                                           {Experts::sent, "all-to-all"}};
  return names;
}

const NameTable<ObjectiveKind>& objective_names() {
  static const NameTable<ObjectiveKind> names = {{ObjectiveKind::time, "time"},
                                                 {ObjectiveKind::cost, "cost"},
                                                 {ObjectiveKind::time_cost, "time-cost"}};
  return names;
}

const std::vector<std::string>& trainable_models() {
  static const std::vector<std::string> names = {"gpt2", "mlp-classifier"};
  return names;
}

std::string ModelConfig::layers_text() const {
  return is_classifier()
             ? fmt::format("it has {} ({} dense layers, classifier)", num_layers(), layers)
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
