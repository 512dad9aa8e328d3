#include "cost/load.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <random>

#include "support/catch.hpp"

namespace pptrain {
namespace {

using Units = std::vector<std::int64_t>;

/// Calls `visit` for every division of the units over the devices, each at least `minimum`.
void for_each_division(std::size_t devices, std::int64_t units, std::int64_t minimum,
                       const std::function<void(const Units&)>& visit) {
  Units division;
  const std::function<void(std::int64_t)> extend = [&](std::int64_t left) {
    if (division.size() + 1 == devices) {
      if (left < minimum) return;
      division.push_back(left);
      visit(division);
      division.pop_back();
      return;
    }
    for (std::int64_t share = minimum; share <= left; ++share) {
      division.push_back(share);
      extend(left - share);
      division.pop_back();
    }
  };
  extend(units);
}

TEST_CASE("loads follow the speed of the devices", "[cost]") {
  // Whale's V100 and P100: 15.7 and 9.3 TFLOP/s in single precision.
  const std::vector<LoadDevice> devices = {{15.7, 1e9, 0, 1}, {9.3, 1e9, 0, 1}};
  CHECK(whale_load_ratios(devices)[0] == Approx(0.628));
  // 16 samples: 10.05 and 5.95
  const LoadShares shares = whale_load_shares(devices, 16);
  CHECK(shares.units == Units{10, 6});
  CHECK(shares.fits);
  CHECK(whale_load_waste(devices, shares.units) == Approx(2 * (0.628 - 0.625)));
}

TEST_CASE("an overloaded device gives up units until it fits", "[cost]") {
  // By speed 6, 3 and 3 of 12; the first one fits 2 + 3 * 1 = 5 bytes: three units go to the others in turn.
  const std::vector<LoadDevice> devices = {{2, 5, 2, 1}, {1, 100, 2, 1}, {1, 100, 2, 1}};
  const LoadShares shares = whale_load_shares(devices, 12);
  CHECK(shares.units == Units{3, 5, 4});
  CHECK(shares.fits);
}

TEST_CASE("a free device that is full takes nothing more", "[cost]") {
  // By speed 4, 4, 4. The first fits 2, the second 5, the third any number.
  const std::vector<LoadDevice> devices = {{1, 2, 0, 1}, {1, 5, 0, 1}, {1, 100, 0, 1}};
  CHECK(whale_load_shares(devices, 12).units == Units{2, 5, 5});
  const std::vector<LoadDevice> narrow = {{1, 2, 0, 1}, {1, 4, 0, 1}, {1, 100, 0, 1}};
  CHECK(whale_load_shares(narrow, 12).units == Units{2, 4, 6});
}

TEST_CASE("a load that fits nowhere is said not to fit", "[cost]") {
  const LoadShares full = whale_load_shares({{1, 4, 0, 1}, {1, 4, 0, 1}}, 9);
  CHECK_FALSE(full.fits);
  CHECK(full.units[0] + full.units[1] == 9);
  // The first cannot hold even the least share.
  const LoadShares fixed = whale_load_shares({{1, 4, 10, 1}, {1, 400, 10, 1}}, 8);
  CHECK_FALSE(fixed.fits);
  CHECK(fixed.units == Units{1, 7});
}

TEST_CASE("without overload Eq. 1 is minimal, with it every division that fits is found", "[cost]") {
  std::mt19937 random(11);
  const auto pick = [&](int low, int high) { return std::uniform_int_distribution<int>(low, high)(random); };
  int num_infeasible = 0;
  for (int trial = 0; trial < 400; ++trial) {
    const bool tight = trial % 2 == 1;
    std::vector<LoadDevice> devices;
    for (int i = pick(1, 4); i > 0; --i) {
      devices.push_back({0.5 + pick(1, 40), tight ? pick(3, 12) : 1e3, 1.0 * pick(0, 3), 1.0 * pick(1, 2)});
    }
    const std::int64_t units = pick(static_cast<int>(devices.size()), 12);
    const LoadShares shares = whale_load_shares(devices, units);
    double least_waste = 2.0;
    bool some_fits = false;
    for_each_division(devices.size(), units, 1, [&](const Units& division) {
      least_waste = std::min(least_waste, whale_load_waste(devices, division));
      bool fits = true;
      for (std::size_t i = 0; i < devices.size(); ++i) fits = fits && devices[i].need(division[i]) <= devices[i].memory;
      some_fits = some_fits || fits;
    });
    INFO("trial " << trial);
    REQUIRE(shares.units.size() == devices.size());
    REQUIRE(std::accumulate(shares.units.begin(), shares.units.end(), std::int64_t{0}) == units);
    REQUIRE(*std::min_element(shares.units.begin(), shares.units.end()) >= 1);
    if (!tight) REQUIRE(whale_load_waste(devices, shares.units) == Approx(least_waste).margin(1e-12));
    REQUIRE(shares.fits == some_fits);
    num_infeasible += some_fits ? 0 : 1;
    for (std::size_t i = 0; shares.fits && i < devices.size(); ++i) {
      REQUIRE(devices[i].need(shares.units[i]) <= devices[i].memory);
    }
  }
  CHECK(num_infeasible > 20);
}

}  // namespace
}  // namespace pptrain
