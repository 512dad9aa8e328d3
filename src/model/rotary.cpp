#include <cmath>
#include <numbers>

#include "model/operators.hpp"

namespace pptrain {
namespace {

/// Frequencies whose wavelength fits the original length `high` times or more stay, those that fit it less than `low`
/// times are divided by the factor, and between the two are both, weighted.
double llama3_frequency(const RotaryForm& form, double frequency) {
  const double wavelength = 2.0 * std::numbers::pi / frequency;
  const double fits = form.original_length / wavelength;
  const double weight = (fits - form.low_frequency_factor) / (form.high_frequency_factor - form.low_frequency_factor);
  const double kept = std::fmin(1.0, std::fmax(0.0, weight));
  return frequency * (kept + (1.0 - kept) / form.factor);
}

}  // namespace

double rotary_frequency(const RotaryForm& form, std::int64_t i) {
  const double frequency = std::pow(form.theta, -2.0 * static_cast<double>(i) / static_cast<double>(form.rotated));
  switch (form.scaling) {
    case RotaryForm::Scaling::none: return frequency;
    case RotaryForm::Scaling::linear: return frequency / form.factor;
    case RotaryForm::Scaling::llama3: return llama3_frequency(form, frequency);
  }
  return frequency;
}

}  // namespace pptrain
