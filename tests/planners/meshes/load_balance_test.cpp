#include "planners/meshes/load_balance.hpp"

#include <algorithm>
#include <numeric>
#include <random>

#include "base/infinity.hpp"
#include "support/catch.hpp"
#include "support/effort.hpp"

namespace pptrain {
namespace {

/// Devices one by one, for the plain references.
struct Device {
  int load_class = 0;
  double fixed = 0.0;
  double per_unit = 0.0;
  double memory = infinity;
  double excess(std::int64_t units) const {
    return fixed + per_unit * static_cast<double>(units) - memory;
  }
};

std::vector<Device> devices_of(const std::vector<LoadClass>& classes) {
  std::vector<Device> devices;
  for (int k = 0; k < static_cast<int>(classes.size()); ++k) {
    const LoadClass& c = classes[k];
    devices.insert(devices.end(), c.count, {k, c.fixed_bytes, c.bytes_per_unit, c.memory});
  }
  return devices;
}

/// Calls `visit` with every division of `total` units over `devices` devices, each at least one.
void for_each_share(int devices, std::int64_t total,
                    const std::function<void(const std::vector<std::int64_t>&)>& visit,
                    std::vector<std::int64_t>& units) {
  if (devices == 1) {
    units.push_back(total);
    visit(units);
    units.pop_back();
    return;
  }
  for (std::int64_t u = 1; u <= total - (devices - 1); ++u) {
    units.push_back(u);
    for_each_share(devices - 1, total - u, visit, units);
    units.pop_back();
  }
}

double slowest(const std::vector<Device>& devices, const std::vector<std::int64_t>& units,
               const LoadSeconds& seconds) {
  double most = 0.0;
  for (std::size_t d = 0; d < devices.size(); ++d)
    most = std::max(most, seconds(devices[d].load_class, units[d]));
  return most;
}

struct Best {
  double seconds = infinity;  ///< of the fitting divisions
  double excess = infinity;   ///< least largest excess of all
};

Best best_by_enumeration(const std::vector<LoadClass>& classes, std::int64_t total,
                         const LoadSeconds& seconds) {
  const std::vector<Device> devices = devices_of(classes);
  Best best;
  std::vector<std::int64_t> units;
  for_each_share(
      static_cast<int>(devices.size()), total,
      [&](const std::vector<std::int64_t>& shares) {
        double excess = -infinity;
        for (std::size_t d = 0; d < devices.size(); ++d)
          excess = std::max(excess, devices[d].excess(shares[d]));
        best.excess = std::min(best.excess, excess);
        if (excess <= 0.0) best.seconds = std::min(best.seconds, slowest(devices, shares, seconds));
      },
      units);
  return best;
}

/// Whale's Algorithm 1 step by step, one unit a shift: shares by speed alone first, then from the
/// device with the highest memory utilisation to the free one that is done first with one more.
std::optional<double> algorithm_1(const std::vector<LoadClass>& classes, std::int64_t total,
                                  const LoadSeconds& seconds) {
  const std::vector<Device> devices = devices_of(classes);
  std::vector<std::int64_t> units(devices.size(), 1);
  const auto with_one_more = [&](std::size_t d) {
    return seconds(devices[d].load_class, units[d] + 1);
  };
  const auto valley = [&](const std::vector<std::size_t>& among) {
    return *std::min_element(among.begin(), among.end(), [&](std::size_t a, std::size_t b) {
      return with_one_more(a) < with_one_more(b);
    });
  };
  std::vector<std::size_t> all(devices.size());
  std::iota(all.begin(), all.end(), 0);
  for (std::int64_t u = static_cast<std::int64_t>(devices.size()); u < total; ++u)
    ++units[valley(all)];
  for (;;) {
    std::vector<std::size_t> overloaded;
    std::vector<std::size_t> free;
    for (const std::size_t d : all) {
      if (devices[d].excess(units[d]) > 0.0) {
        overloaded.push_back(d);
      } else if (devices[d].excess(units[d] + 1) <= 0.0) {
        free.push_back(d);
      }
    }
    if (overloaded.empty()) return slowest(devices, units, seconds);
    const auto use = [&](std::size_t d) {
      return 1.0 + devices[d].excess(units[d]) / devices[d].memory;
    };
    const std::size_t peak = *std::max_element(overloaded.begin(), overloaded.end(),
                                               [&](auto a, auto b) { return use(a) < use(b); });
    if (free.empty() || units[peak] == 1) return std::nullopt;
    ++units[valley(free)];
    --units[peak];
  }
}

LoadBalance checked(const std::vector<LoadClass>& classes, std::int64_t total,
                    const LoadSeconds& seconds) {
  const std::optional<LoadBalance> balance = balance_load(classes, total, seconds);
  REQUIRE(balance);
  std::int64_t sum = 0;
  double most = 0.0;
  for (std::size_t k = 0; k < classes.size(); ++k) {
    const ClassShare& share = balance->shares[k];
    const std::int64_t largest = share.units + (share.num_more > 0 ? 1 : 0);
    CHECK(share.units >= 1);
    CHECK(share.num_more < classes[k].count);
    CHECK(classes[k].need(largest) <= classes[k].memory);
    most = std::max(most, seconds(static_cast<int>(k), largest));
    sum += share.units * classes[k].count + share.num_more;
  }
  CHECK(sum == total);
  CHECK(balance->seconds == most);
  return *balance;
}

TEST_CASE("shares are proportional to speed where memory allows", "[planners]") {
  // Whale Figure 4: a V100 gets 4 samples and a T4 2 when it is twice as fast.
  const std::vector<double> flops = {2.0, 1.0};
  const LoadSeconds proportional = [&](int k, std::int64_t units) {
    return static_cast<double>(units) / flops[k];
  };
  const LoadBalance balance = checked({{1, 0, 1, 100}, {1, 0, 1, 100}}, 6, proportional);
  CHECK(balance.shares == std::vector<ClassShare>{{4, 0}, {2, 0}});
  CHECK(balance.seconds == 2.0);
  const LoadBalance many = checked({{8, 0, 1, 100}, {8, 0, 1, 100}}, 48, proportional);
  CHECK(many.shares == std::vector<ClassShare>{{4, 0}, {2, 0}});
}

TEST_CASE("what memory does not hold goes to the others", "[planners]") {
  const std::vector<double> flops = {3.0, 1.0, 1.0};
  const LoadSeconds proportional = [&](int k, std::int64_t units) {
    return static_cast<double>(units) / flops[k];
  };
  // By speed the first would get 6 of 10; it holds (5 - 1) / 1 = 4.
  const LoadBalance balance =
      checked({{1, 1, 1, 5}, {1, 0, 1, 100}, {1, 0, 1, 100}}, 10, proportional);
  CHECK(balance.shares == std::vector<ClassShare>{{4, 0}, {3, 0}, {3, 0}});
  CHECK_FALSE(balance_load({{1, 1, 1, 5}, {2, 0, 1, 2}}, 10, proportional));
  // 10 units where 4 + 2 + 2 fit: one byte more each would hold 11.
  const Shortage shortage = least_shortage({{1, 1, 1, 5}, {2, 0, 1, 2}}, 10);
  CHECK(shortage.bytes == 1.0);
}

TEST_CASE("a device that does not hold one unit is named", "[planners]") {
  const LoadSeconds equal = [](int, std::int64_t units) { return static_cast<double>(units); };
  const std::vector<LoadClass> classes = {{3, 0, 1, 100}, {1, 10, 2, 9}};
  CHECK_FALSE(balance_load(classes, 8, equal));
  const Shortage shortage = least_shortage(classes, 8);
  CHECK(shortage.load_class == 1);
  CHECK(shortage.bytes == 3.0);
}

TEST_CASE("units left at equal time go to the class with the lowest memory utilisation",
          "[planners]") {
  const LoadSeconds equal = [](int, std::int64_t units) { return static_cast<double>(units); };
  const LoadBalance balance = checked({{2, 0, 1, 10}, {2, 0, 1, 20}}, 5, equal);
  CHECK(balance.shares == std::vector<ClassShare>{{1, 0}, {1, 1}});
  CHECK(units_of_devices(balance.shares, {0, 1, 0, 1}) == std::vector<std::int64_t>{1, 2, 1, 1});
}

TEST_CASE("layers that take no time are shared evenly inside a class", "[planners]") {
  const LoadSeconds nothing = [](int, std::int64_t) { return 0.0; };
  CHECK(checked({{3, 0, 1, 100}}, 11, nothing).shares == std::vector<ClassShare>{{3, 2}});
}

/// Devices, a load, and times between rows that grow in pieces.
struct RandomLoad {
  explicit RandomLoad(unsigned seed) {
    std::mt19937 random(seed);
    const auto pick = [&](int from, int to) {
      return std::uniform_int_distribution<int>(from, to)(random);
    };
    std::int64_t devices = 0;
    for (int k = pick(1, 3); k > 0; --k) {
      const LoadClass made = {pick(1, 2), static_cast<double>(pick(0, 5)),
                              static_cast<double>(pick(0, 3)), static_cast<double>(pick(4, 24))};
      classes.push_back(made);
      devices += made.count;
      std::vector<double> at = {0.0};
      for (int u = 1; u <= 10; ++u)
        at.push_back(at.back() + pick(0, 4) * 0.25 + (u == 1 ? pick(0, 2) : 0));
      times.push_back(at);
    }
    total = devices + pick(0, static_cast<int>(10 - devices));
  }
  double seconds(int k, std::int64_t units) const {
    return times[k][static_cast<std::size_t>(units)];
  }

  std::vector<LoadClass> classes;
  std::vector<std::vector<double>> times;
  std::int64_t total = 0;
};

TEST_CASE("the slowest device takes the least time of all divisions that fit", "[planners]") {
  int fitting = 0;
  int capped = 0;
  for (unsigned seed = 0; seed < 2000; ++seed) {
    const RandomLoad load(seed);
    const LoadSeconds seconds = [&](int k, std::int64_t units) { return load.seconds(k, units); };
    const Best best = best_by_enumeration(load.classes, load.total, seconds);
    INFO("seed " << seed);
    if (best.seconds == infinity) {
      CHECK_FALSE(balance_load(load.classes, load.total, seconds));
      CHECK(least_shortage(load.classes, load.total).bytes == best.excess);
      continue;
    }
    const LoadBalance balance = checked(load.classes, load.total, seconds);
    CHECK(balance.seconds == best.seconds);
    CHECK(algorithm_1(load.classes, load.total, seconds) == balance.seconds);
    ++fitting;
    std::vector<LoadClass> free = load.classes;
    for (LoadClass& c : free) c.memory = infinity;
    if (balance_load(free, load.total, seconds)->seconds < balance.seconds) ++capped;
  }
  CHECK(fitting > 1000);
  CHECK(capped > 100);
}

TEST_CASE("times that fall with more units still give a division", "[planners]") {
  for (unsigned seed = 0; seed < 500; ++seed) {
    std::mt19937 random(seed);
    const auto pick = [&](int from, int to) {
      return std::uniform_int_distribution<int>(from, to)(random);
    };
    std::vector<std::vector<double>> times(3);
    for (auto& at : times) {
      for (int u = 0; u <= 40; ++u) at.push_back(pick(0, 9));
    }
    const std::vector<LoadClass> classes = {
        {pick(1, 3), 0, 1, 30}, {pick(1, 3), 0, 1, 20}, {pick(1, 3), 0, 1, 10}};
    checked(classes, pick(9, 30),
            [&](int k, std::int64_t units) { return times[k][static_cast<std::size_t>(units)]; });
  }
}

TEST_CASE("a balance costs little, though it is made thousands of times", "[planners]") {
  const std::vector<double> flops = {15.7, 9.3};
  const LoadSeconds proportional = [&](int k, std::int64_t units) {
    return static_cast<double>(units) / flops[k];
  };
  const std::vector<LoadClass> classes = {{8, 1e9, 1e8, 32e9}, {8, 1e9, 1e8, 16e9}};
  constexpr int times = 2000;
  std::int64_t units = 0;
  const double effort = test::effort_of([&] {
    for (int i = 0; i < times; ++i)
      units += balance_load(classes, 512 + i % 7, proportional)->shares[0].units;
  });
  CHECK(units == 40 * times);
  CHECK(effort < 5.0);
}

}  // namespace
}  // namespace pptrain
