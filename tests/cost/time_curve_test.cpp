#include "cost/time_curve.hpp"

#include <random>

#include "cost/work_prices.hpp"
#include "support/catch.hpp"

namespace pptrain {
namespace {

TEST_CASE("a lower curve is convex, nowhere decreasing and nowhere above the rows", "[cost]") {
  std::mt19937 random(3);
  std::uniform_real_distribution<double> seconds(0.0, 1.0);
  for (int trial = 0; trial < 200; ++trial) {
    std::vector<TimePoint> a, b;
    for (double samples = 0.5; samples < 12; samples += 0.5 + 3.0 * seconds(random))
      a.push_back({samples, seconds(random)});
    for (double samples = 2.0; samples < 30; samples += 0.5 + 3.0 * seconds(random))
      b.push_back({samples, seconds(random)});
    const double most = 1.0 + 15.0 * seconds(random);
    const TimeCurve curve = lower_curve({&a, &b}, most);
    REQUIRE(curve.front().samples == 1.0);
    REQUIRE(curve.back().samples == most);
    double slope = 0.0;
    for (std::size_t i = 1; i < curve.size(); ++i) {
      const double next =
          (curve[i].seconds - curve[i - 1].seconds) / (curve[i].samples - curve[i - 1].samples);
      REQUIRE(next >= slope - 1e-12);
      slope = next;
    }
    for (double samples = 1.0; samples <= most; samples += 0.01) {
      const double rows = std::min(seconds_by_rows(a, samples), seconds_by_rows(b, samples));
      REQUIRE(seconds_at(curve, samples) <= rows + 1e-12);
    }
  }
}

TEST_CASE("a curve through convex rows is the rows", "[cost]") {
  const std::vector<TimePoint> rows = {{1, 1}, {2, 1.5}, {4, 3}, {8, 7}};
  const TimeCurve curve = lower_curve({&rows}, 8.0);
  for (double samples = 1.0; samples <= 8.0; samples += 0.125) {
    CHECK(seconds_at(curve, samples) == Approx(seconds_by_rows(rows, samples)));
  }
  CHECK(lower_curve({&rows}, 1.0).size() == 1);
  CHECK(seconds_at(lower_curve({&rows}, 1.0), 1.0) == 1.0);
}

/// With two kinds the dual has one free price, and its optimum lies where some layer is
/// indifferent.
double exact_for_two_kinds(const std::vector<LayerWork>& work, const std::vector<double>& devices) {
  const auto value = [&](double first) {
    const double second = (1.0 - first * devices[0]) / devices[1];
    double total = 0.0;
    for (const LayerWork& layer : work)
      total += layer.count * std::min(first * layer.on_kind[0], second * layer.on_kind[1]);
    return total;
  };
  double best = std::max(value(0.0), value(1.0 / devices[0]));
  for (const LayerWork& layer : work) {
    best = std::max(best, value(layer.on_kind[1] /
                                (layer.on_kind[0] * devices[1] + layer.on_kind[1] * devices[0])));
  }
  return best;
}

TEST_CASE("prices of work reach the linear programme's optimum for two kinds", "[cost]") {
  std::mt19937 random(5);
  std::uniform_real_distribution<double> seconds(0.05, 1.0);
  for (int trial = 0; trial < 300; ++trial) {
    std::vector<LayerWork> work;
    for (int l = 0; l < 10 + trial % 20; ++l)
      work.push_back({{seconds(random), seconds(random)}, 1.0 + trial % 3});
    const std::vector<double> devices = {std::ceil(8 * seconds(random)),
                                         std::ceil(8 * seconds(random))};
    const double exact = exact_for_two_kinds(work, devices);
    const double least = shared_work_seconds(work, devices);
    CHECK(least <= exact * (1 + 1e-12));
    CHECK(least >= exact * (1 - 1e-3));
  }
}

}  // namespace
}  // namespace pptrain
