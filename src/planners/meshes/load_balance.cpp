#include "planners/meshes/load_balance.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/error.hpp"
#include "base/infinity.hpp"

namespace pptrain {
namespace {

std::int64_t num_devices(const std::vector<LoadClass>& classes) {
  std::int64_t count = 0;
  for (const LoadClass& c : classes) count += c.count;
  return count;
}

/// The least level at which the classes hold all units, where `level(class, units)` (seconds, or
/// bytes short) must not fall with more units.
class LevelSearch {
 public:
  /// `most`: units that a device of each class may get, at least 1.
  LevelSearch(const std::vector<LoadClass>& classes, std::int64_t total,
              std::vector<std::int64_t> most, const LoadSeconds& level)
      : classes_(classes), total_(total), most_(std::move(most)), level_(level), least_(infinity) {
    for (int k = 0; k < num_classes(); ++k) lower_least(k);
  }

  /// Every device at its share of the least level or below.
  std::vector<ClassShare> shares() const {
    std::vector<ClassShare> shares;
    std::int64_t left = total_;
    for (int k = 0; k < num_classes(); ++k) {
      shares.push_back({units_at(k, std::nextafter(least_, -infinity)), 0});
      left -= shares.back().units * classes_[k].count;
    }
    for (const int k : by_memory_use(shares)) {
      const std::int64_t count = classes_[k].count;
      const std::int64_t before = shares[k].units * count;
      // Times that fall with more units leave too much already; of those that do not, `left` is
      // never below 0.
      const std::int64_t now =
          before + std::clamp(left, count - before, units_at(k, least_) * count - before);
      shares[k] = {now / count, static_cast<int>(now % count)};
      left -= now - before;
    }
    PPTRAIN_ASSERT(left == 0, "{} of {} units were left over", left, total_);
    return shares;
  }

 private:
  int num_classes() const { return static_cast<int>(classes_.size()); }

  /// The most units that a device can have at this level; at least its one.
  std::int64_t units_at(int k, double level) const {
    std::int64_t below = 1;
    std::int64_t above = most_[k] + 1;
    while (above - below > 1) {
      const std::int64_t middle = below + (above - below) / 2;
      (level_(k, middle) <= level ? below : above) = middle;
    }
    return below;
  }

  bool holds_all(double level) const {
    std::int64_t units = 0;
    for (int k = 0; k < num_classes(); ++k) units += units_at(k, level) * classes_[k].count;
    return units >= total_;
  }

  /// The least level is one that some class has with whole units: the least of class k that holds
  /// all.
  void lower_least(int k) {
    std::int64_t below = 0;
    std::int64_t enough = units_at(k, least_);
    const double first = level_(k, enough);
    if (first > least_ || !holds_all(first)) return;
    while (enough - below > 1) {
      const std::int64_t middle = below + (enough - below) / 2;
      (holds_all(level_(k, middle)) ? enough : below) = middle;
    }
    least_ = level_(k, enough);
  }

  /// Whale's valley device: at equal time the one with the lowest memory utilisation.
  std::vector<int> by_memory_use(const std::vector<ClassShare>& shares) const {
    std::vector<int> order(classes_.size());
    std::iota(order.begin(), order.end(), 0);
    const auto use = [&](int k) {
      return classes_[k].need(shares[k].units + 1) / classes_[k].memory;
    };
    std::stable_sort(order.begin(), order.end(), [&](int a, int b) { return use(a) < use(b); });
    return order;
  }

  const std::vector<LoadClass>& classes_;
  std::int64_t total_;
  std::vector<std::int64_t> most_;
  const LoadSeconds& level_;
  double least_;
};

/// The most units that a device of the class holds; no more than are left for it by the others.
std::int64_t most_that_fit(const LoadClass& load_class, std::int64_t left) {
  if (load_class.need(left) <= load_class.memory) return left;
  std::int64_t fits = 0;
  std::int64_t above = left;
  while (above - fits > 1) {
    const std::int64_t middle = fits + (above - fits) / 2;
    (load_class.need(middle) <= load_class.memory ? fits : above) = middle;
  }
  return fits;
}

}  // namespace

std::optional<LoadBalance> balance_load(const std::vector<LoadClass>& classes, std::int64_t total,
                                        const LoadSeconds& seconds) {
  const std::int64_t devices = num_devices(classes);
  PPTRAIN_ASSERT(total >= devices && devices > 0, "{} units for {} devices", total, devices);
  std::vector<std::int64_t> most;
  std::int64_t capacity = 0;
  for (const LoadClass& c : classes) {
    most.push_back(most_that_fit(c, total - devices + 1));
    if (most.back() < 1) return std::nullopt;
    capacity += most.back() * c.count;
  }
  if (capacity < total) return std::nullopt;
  LoadBalance balance = {LevelSearch(classes, total, std::move(most), seconds).shares(), 0.0};
  for (int k = 0; k < static_cast<int>(classes.size()); ++k) {
    balance.seconds = std::max(balance.seconds, seconds(k, balance.shares[k].most()));
  }
  return balance;
}

Shortage least_shortage(const std::vector<LoadClass>& classes, std::int64_t total) {
  const std::int64_t devices = num_devices(classes);
  PPTRAIN_ASSERT(total >= devices && devices > 0, "{} units for {} devices", total, devices);
  const LoadSeconds lack = [&](int k, std::int64_t units) {
    return classes[k].need(units) - classes[k].memory;
  };
  const std::vector<std::int64_t> most(classes.size(), total - devices + 1);
  Shortage shortage = {0, -infinity, LevelSearch(classes, total, most, lack).shares()};
  for (int k = 0; k < static_cast<int>(classes.size()); ++k) {
    const double bytes = lack(k, shortage.shares[k].most());
    if (bytes <= shortage.bytes) continue;
    shortage.load_class = k;
    shortage.bytes = bytes;
  }
  return shortage;
}

std::vector<std::int64_t> units_of_devices(const std::vector<ClassShare>& shares,
                                           const std::vector<int>& classes_of_devices) {
  std::vector<int> seen(shares.size(), 0);
  std::vector<std::int64_t> units;
  units.reserve(classes_of_devices.size());
  for (const int k : classes_of_devices)
    units.push_back(shares[k].units + (seen[k]++ < shares[k].num_more ? 1 : 0));
  return units;
}

}  // namespace pptrain
