#include "cost/load.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>
#include <tuple>

#include "base/error.hpp"

namespace pptrain {
namespace {

/// Whole shares nearest to the ideal ones: Eq. 1 is convex in each share, so single steps reach its minimum.
std::vector<std::int64_t> shares_by_flop(const std::vector<LoadDevice>& devices, std::int64_t units,
                                         std::int64_t minimum) {
  std::vector<double> above = whale_load_ratios(devices);  // the ideal share less the whole one
  std::vector<std::int64_t> shares;
  for (double& ideal : above) {
    ideal *= static_cast<double>(units);
    shares.push_back(std::max(minimum, static_cast<std::int64_t>(std::floor(ideal))));
    ideal -= static_cast<double>(shares.back());
  }
  std::int64_t left = units - std::accumulate(shares.begin(), shares.end(), std::int64_t{0});
  for (; left > 0; --left) {
    const auto taker = std::max_element(above.begin(), above.end()) - above.begin();
    ++shares[taker];
    above[taker] -= 1.0;
  }
  for (; left < 0; ++left) {
    std::size_t giver = 0;
    while (shares[giver] == minimum) ++giver;
    for (std::size_t i = giver; i < shares.size(); ++i) {
      if (shares[i] > minimum && above[i] < above[giver]) giver = i;
    }
    --shares[giver];
    above[giver] += 1.0;
  }
  return shares;
}

/// The lists of Algorithm 1, each in the order in which it is drawn from.
class LoadShift {
 public:
  LoadShift(const std::vector<LoadDevice>& devices, std::vector<std::int64_t> shares, std::int64_t minimum)
      : devices_(devices), shares_(std::move(shares)), minimum_(minimum) {
    for (std::size_t i = 0; i < devices_.size(); ++i) enlist(i);
  }

  LoadShares run() {
    bool fits = true;
    while (!overloaded_.empty() && !free_.empty()) {
      const std::size_t peak = overloaded_.begin()->second;
      const std::size_t valley = std::get<2>(*free_.begin());
      if (shares_[peak] == minimum_) {
        overloaded_.erase(overloaded_.begin());
        fits = false;
      } else if (devices_[valley].need(shares_[valley] + 1) > devices_[valley].memory) {
        free_.erase(free_.begin());
      } else {
        overloaded_.erase(overloaded_.begin());
        free_.erase(free_.begin());
        --shares_[peak];
        ++shares_[valley];
        if (memory_use(peak) > 1.0) enlist(peak);  // one that fits by now takes nothing back
        enlist(valley);
      }
    }
    return {std::move(shares_), fits && overloaded_.empty()};
  }

 private:
  double memory_use(std::size_t i) const { return devices_[i].need(shares_[i]) / devices_[i].memory; }
  double flop_use(std::size_t i) const { return static_cast<double>(shares_[i]) / devices_[i].flop_per_second; }

  void enlist(std::size_t i) {
    if (memory_use(i) > 1.0) {
      overloaded_.insert({-memory_use(i), i});
    } else {
      free_.insert({flop_use(i), memory_use(i), i});
    }
  }

  const std::vector<LoadDevice>& devices_;
  std::vector<std::int64_t> shares_;
  std::int64_t minimum_;
  std::set<std::pair<double, std::size_t>> overloaded_;     // highest memory utilisation first
  std::set<std::tuple<double, double, std::size_t>> free_;  // least FLOP, then memory utilisation first
};

}  // namespace

std::vector<double> whale_load_ratios(const std::vector<LoadDevice>& devices) {
  double total = 0.0;
  for (const LoadDevice& device : devices) total += device.flop_per_second;
  std::vector<double> ratios;
  for (const LoadDevice& device : devices) ratios.push_back(device.flop_per_second / total);
  return ratios;
}

double whale_load_waste(const std::vector<LoadDevice>& devices, const std::vector<std::int64_t>& units) {
  const std::vector<double> ratios = whale_load_ratios(devices);
  const auto total = static_cast<double>(std::accumulate(units.begin(), units.end(), std::int64_t{0}));
  double waste = 0.0;
  for (std::size_t i = 0; i < units.size(); ++i) waste += std::abs(static_cast<double>(units[i]) / total - ratios[i]);
  return waste;
}

LoadShares whale_load_shares(const std::vector<LoadDevice>& devices, std::int64_t units, std::int64_t minimum) {
  PPTRAIN_ASSERT(!devices.empty() && units >= minimum * static_cast<std::int64_t>(devices.size()),
                 "{} units for {} devices, each at least {}", units, devices.size(), minimum);
  return LoadShift(devices, shares_by_flop(devices, units, minimum), minimum).run();
}

}  // namespace pptrain
