#include "profile/layer_rows.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>

namespace pptrain {
namespace {

/// Rows are left out where the rows beside them give the time within this part of it.
constexpr double row_tolerance = 0.01;

LayerSeconds with_four_digits(const LayerSeconds& s) {
  return {rounded(s.forward), rounded(s.backward_input), rounded(s.backward_weight)};
}

double relative_error(const LayerSeconds& exact, const LayerSeconds& found) {
  const double sum = std::abs(exact.forward - found.forward) +
                     std::abs(exact.backward_input - found.backward_input) +
                     std::abs(exact.backward_weight - found.backward_weight);
  return sum == 0.0 ? 0.0 : sum / exact.total();
}

/// The numbers of samples for which a row may be made: 1, 2, 3, 4, 6, 8, 12, ... below `largest`,
/// and `largest`.
std::vector<double> sample_counts(double largest) {
  std::vector<double> counts;
  for (double power = 1.0; power < largest; power *= 2.0) {
    counts.push_back(power);
    if (power > 1.0 && 1.5 * power < largest) counts.push_back(1.5 * power);
  }
  counts.push_back(largest);
  return counts;
}

/// Rows for one kind and degree, as few as give every count of samples within the tolerance.
std::vector<ProfileRow> layer_rows(const Work& work, const std::string& device,
                                   const Roofline& roofline, int degree, double largest_samples,
                                   const ContextExchange& exchange) {
  const auto parts = static_cast<double>(exchange.replicas());
  const auto row = [&](double samples) {
    LayerSeconds seconds = roofline_seconds(work, roofline, degree, samples / parts);
    const LayerSeconds passing = exchange.seconds(work, roofline, samples);
    seconds.forward += passing.forward;
    seconds.backward_input += passing.backward_input;
    return ProfileRow{device, degree, samples, seconds, true};
  };
  Profile chosen;
  chosen.layers.push_back({});
  std::vector<ProfileRow>& rows = chosen.layers.front().rows;
  rows.push_back(row(1.0));
  if (rows.front().seconds.total() == 0.0) return rows;
  if (largest_samples > 1.0) rows.push_back(row(largest_samples));
  for (;;) {
    ProfileRow worst;
    double error = row_tolerance;
    for (const double samples : sample_counts(largest_samples)) {
      const ProfileRow exact = row(samples);
      const double found =
          relative_error(exact.seconds, *chosen.seconds(0, device, degree, samples));
      if (found > error) {
        error = found;
        worst = exact;
      }
    }
    if (error == row_tolerance) break;
    rows.push_back(worst);
  }
  std::sort(rows.begin(), rows.end(),
            [](const ProfileRow& a, const ProfileRow& b) { return a.samples < b.samples; });
  for (ProfileRow& r : rows) r.seconds = with_four_digits(r.seconds);
  return rows;
}

}  // namespace

double rounded(double seconds) {
  return std::strtod(fmt::format("{:.3e}", seconds).c_str(), nullptr);
}

const std::vector<ProfileRow>& LayerRows::of(const Work& work) {
  const auto known = std::find_if(made_.begin(), made_.end(),
                                  [&](const Made& made) { return *made.work == work; });
  if (known != made_.end()) return known->rows;
  made_.push_back(
      {&work, layer_rows(work, kind_, roofline_, degree_, largest_samples_, exchange_)});
  return made_.back().rows;
}

}  // namespace pptrain
