#include <cmath>
#include <numbers>

#include "model/operators.hpp"

namespace pptrain {
namespace {

/// Frequencies whose wavelength fits the original length `high` times or more stay, those that fit
/// it less than `low` times are divided by the factor, and between the two are both, weighted.
double llama3_frequency(const RotaryForm& form, double frequency) {
  const double wavelength = 2.0 * std::numbers::pi / frequency;
  const double fits = form.original_length / wavelength;
  const double weight =
      (fits - form.low_frequency_factor) / (form.high_frequency_factor - form.low_frequency_factor);
  const double kept = std::fmin(1.0, std::fmax(0.0, weight));
  return frequency * (kept + (1.0 - kept) / form.factor);
}

/// The pair, as a real number, that turns `turns` times within the original length.
double pair_of_turns(const RotaryForm& form, double turns) {
  const double wavelengths = form.original_length / (turns * 2.0 * std::numbers::pi);
  return static_cast<double>(form.rotated) * std::log(wavelengths) / (2.0 * std::log(form.theta));
}

/// Peng et al., "YaRN", 2023, section 3.2, as transformers has it: the ramp's ends are pairs, and
/// are kept within the columns that turn rather than within the pairs.
double yarn_frequency(const RotaryForm& form, std::int64_t i, double frequency) {
  constexpr double least_length = 0.001;
  double first = pair_of_turns(form, form.fast_turns), last = pair_of_turns(form, form.slow_turns);
  if (form.whole_pairs) first = std::floor(first), last = std::ceil(last);
  first = std::fmax(first, 0.0), last = std::fmin(last, static_cast<double>(form.rotated - 1));
  if (first == last) last += least_length;
  const double divided =
      std::fmin(1.0, std::fmax(0.0, (static_cast<double>(i) - first) / (last - first)));
  return frequency * (divided / form.factor + 1.0 - divided);
}

}  // namespace

double rotary_frequency(const RotaryForm& form, std::int64_t i) {
  const double frequency =
      std::pow(form.theta, -2.0 * static_cast<double>(i) / static_cast<double>(form.rotated));
  switch (form.scaling) {
    case RotaryForm::Scaling::none: return frequency;
    case RotaryForm::Scaling::linear: return frequency / form.factor;
    case RotaryForm::Scaling::llama3: return llama3_frequency(form, frequency);
    case RotaryForm::Scaling::yarn: return yarn_frequency(form, i, frequency);
  }
  return frequency;
}

}  // namespace pptrain
