#include "runtime/replan/drift_watch.hpp"

#include <algorithm>

namespace pptrain {
namespace {

/// The middle one of the positive values, the lower one of two; 1 for none.
double lower_median(std::vector<double> values) {
  std::erase_if(values, [](double value) { return !(value > 0.0); });
  if (values.empty()) return 1.0;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>((values.size() - 1) / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

}  // namespace

void DriftWatch::restart(std::vector<double> predicted) {
  expected_ = std::move(predicted);
  calibrated_ = false;
}

/// Measured over expected seconds, 0 where nothing is expected.
std::vector<double> DriftWatch::ratios(const std::vector<double>& measured) const {
  std::vector<double> ratios(expected_.size(), 0.0);
  for (std::size_t r = 0; r < expected_.size(); ++r) {
    if (expected_[r] > 0.0) ratios[r] = measured[r] / expected_[r];
  }
  return ratios;
}

void DriftWatch::calibrate(const std::vector<double>& measured) {
  const std::vector<double> own = ratios(measured);
  const double common = lower_median(own);
  for (std::size_t r = 0; r < expected_.size(); ++r) {
    expected_[r] *= core_use_ == CoreUse::own ? std::min(own[r], common) : own[r];
  }
  calibrated_ = true;
}

std::vector<DriftingRank> DriftWatch::end_window(const std::vector<double>& measured) {
  if (!calibrated_) calibrate(measured);
  const std::vector<double> all = ratios(measured);
  const double shared = std::max(1.0, lower_median(all));
  std::vector<DriftingRank> drifting;
  for (std::size_t r = 0; r < all.size(); ++r) {
    const double factor = all[r] / shared;
    if (factor > limit_)
      drifting.push_back({static_cast<int>(r), factor, measured[r], expected_[r]});
  }
  return drifting;
}

}  // namespace pptrain
