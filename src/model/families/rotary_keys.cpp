#include <fmt/format.h>

#include <cmath>

#include "model/families/config_keys.hpp"

namespace pptrain {
namespace {

/// A number that others are multiplied or divided by; `fallback` where it is left out.
double positive(const ConfigJson& config, const std::string& key,
                std::optional<double> fallback = std::nullopt) {
  const double value = config.number(key, fallback);
  if (value > 0.0) return value;
  config.refuse(key, fmt::format("is {}", value), "positions are scaled by it",
                "correct it: it is above 0");
}

/// What transformers takes for a number that is left out, `null` or 0.
double number_or(const ConfigJson& config, const std::string& key, double fallback) {
  const double value = config.number(key, 0.0);
  return value == 0.0 ? fallback : value;
}

/// The factor by which scores grow with the context, as Peng et al. fit it (eq. 22).
double growth(double factor, double weight) {
  return factor <= 1.0 ? 1.0 : 0.1 * weight * std::log(factor) + 1.0;
}

/// The factor of sines and cosines: what the file says, or what follows from the factor of
/// positions.
double attention_factor(const ConfigJson& details, double factor) {
  const double weight = details.number("mscale", 0.0),
               weight_of_all = details.number("mscale_all_dim", 0.0);
  if (details.has("attention_factor")) return positive(details, "attention_factor");
  if (weight == 0.0 || weight_of_all == 0.0) return growth(factor, 1.0);
  return growth(factor, weight) / growth(factor, weight_of_all);
}

void read_yarn(const ConfigJson& config, const ConfigJson& details, RotaryForm& form) {
  constexpr double fast = 32.0, slow = 1.0;
  form.scaling = RotaryForm::Scaling::yarn;
  form.factor = positive(details, "factor");
  form.original_length = details.has("original_max_position_embeddings")
                             ? positive(details, "original_max_position_embeddings")
                             : static_cast<double>(config.size("max_position_embeddings"));
  form.fast_turns = number_or(details, "beta_fast", fast);
  form.slow_turns = number_or(details, "beta_slow", slow);
  form.whole_pairs = details.boolean("truncate", true);
  form.attention_factor = attention_factor(details, form.factor);
  if (form.theta > 1.0 && form.slow_turns > 0.0 && form.fast_turns >= form.slow_turns) return;
  details.refuse(
      "",
      fmt::format("turns {} to {}, with the base {}", form.slow_turns, form.fast_turns, form.theta),
      "the pairs between them are found by logarithms to the base",
      "correct beta_slow, beta_fast or rope_theta");
}

/// Notes the keys that divide a head's columns between time, rows and columns of an image: in a
/// text these three numbers of a position are the same, so that heads turn as without.
void pass_over_images(const ConfigJson& details) {
  details.integers("mrope_section");
  details.boolean("mrope_interleaved", false);
}

}  // namespace

RotaryForm rotary_form(const ConfigJson& config, const RotaryConfig& read, std::int64_t rotated,
                       const std::string& theta_key) {
  RotaryForm form;
  form.theta = read.theta;
  if (form.theta <= 0.0) {
    config.refuse(theta_key, fmt::format("the base of rotary positions is {}", form.theta),
                  "powers of it are taken", "correct it: it is above 0");
  }
  form.rotated = rotated;
  if (read.type == "default" || read.type == "mrope") {
    if (read.details) pass_over_images(*read.details);
    return form;
  }
  if (read.type == "linear") {
    form.scaling = RotaryForm::Scaling::linear;
    form.factor = positive(*read.details, "factor");
    return form;
  }
  if (read.type == "llama3") {
    form.scaling = RotaryForm::Scaling::llama3;
    form.factor = positive(*read.details, "factor");
    form.low_frequency_factor = positive(*read.details, "low_freq_factor");
    form.high_frequency_factor = positive(*read.details, "high_freq_factor");
    form.original_length = positive(*read.details, "original_max_position_embeddings");
    return form;
  }
  if (read.type == "yarn") {
    read_yarn(config, *read.details, form);
    return form;
  }
  config.refuse("", fmt::format("rotary positions of type \"{}\" are not known", read.type),
                "they would change every number; known are default, linear, llama3 and yarn",
                "use a model with one of these");
}

RotaryForm rotary_of(const ConfigJson& config, std::int64_t rotated, double fallback_theta,
                     const std::string& theta_key) {
  return rotary_form(config, read_rotary(config, fallback_theta, theta_key), rotated, theta_key);
}

RotaryForm whole_heads_turn(const ConfigJson& config, std::int64_t head_size,
                            double fallback_theta) {
  // Version 5 of transformers writes a part of the head that turns there.
  if (config.has("rope_parameters"))
    config.object("rope_parameters")
        .only("partial_rotary_factor", 1.0, "all columns of a head turn");
  return rotary_of(config, head_size, fallback_theta);
}

std::int64_t rotated_columns(const ConfigJson& config, std::int64_t head_size,
                             const std::string& older_key, double fallback) {
  const double older = config.number(older_key, fallback);
  const bool is_newer = config.has("rope_parameters");
  const double part =
      is_newer ? config.object("rope_parameters").number("partial_rotary_factor", older) : older;
  if (part < 0.0 || part > 1.0) {
    config.refuse(is_newer ? "rope_parameters" : older_key,
                  fmt::format("{} of each head turns", part), "a part is from 0 to 1",
                  "correct it");
  }
  if (config.has(older_key) && part != older) {
    config.refuse(older_key, fmt::format("is {}", older),
                  fmt::format("rope_parameters.partial_rotary_factor is {}", part),
                  "keep one of them");
  }
  config.only("partial_rotary_factor", part, "that is the part that transformers' class takes");
  return static_cast<std::int64_t>(static_cast<double>(head_size) * part);
}

}  // namespace pptrain
