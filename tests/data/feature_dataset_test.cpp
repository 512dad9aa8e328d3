#include "data/feature_dataset.hpp"

#include <cmath>
#include <set>
#include <vector>

#include "data/synthetic_clusters.hpp"
#include "support/catch.hpp"

namespace pptrain {
namespace {

/// Row i is of class i.
class Counting final : public FeatureTable {
 public:
  explicit Counting(std::int64_t rows) : rows_(rows) {}
  std::int64_t num_rows() const override { return rows_; }
  void row(std::int64_t index, const SampleSlot& slot) const override {
    *slot.targets = static_cast<std::int32_t>(index);
  }

 private:
  std::int64_t rows_;
};

std::int32_t row_of(const FeatureDataset& data, std::int64_t step, std::int64_t index) {
  std::int32_t row = -1;
  data.sample(step, index, {nullptr, &row, nullptr});
  return row;
}

TEST_CASE("shuffled rows come once per epoch, in another order each time", "[features]") {
  const FeatureDataset data(std::make_unique<Counting>(10), {4, true, 3});
  std::vector<std::vector<std::int32_t>> epochs(2);
  for (std::int64_t number = 0; number < 20; ++number) {
    epochs[static_cast<std::size_t>(number / 10)].push_back(row_of(data, number / 4, number % 4));
  }
  for (const auto& rows : epochs)
    CHECK(std::set<std::int32_t>(rows.begin(), rows.end()).size() == 10);
  CHECK(epochs[0] != epochs[1]);
  const FeatureDataset again(std::make_unique<Counting>(10), {4, true, 3});
  CHECK(row_of(again, 4, 2) == epochs[1][8]);
  const FeatureDataset other(std::make_unique<Counting>(1000), {4, true, 4});
  const FeatureDataset same(std::make_unique<Counting>(1000), {4, true, 3});
  CHECK(row_of(other, 0, 0) != row_of(same, 0, 0));
}

TEST_CASE("rows in order start over after the last whole batch", "[features]") {
  const FeatureDataset data(std::make_unique<Counting>(10), {4, false, 3});
  CHECK(row_of(data, 0, 3) == 3);
  CHECK(row_of(data, 1, 0) == 4);
  CHECK(row_of(data, 2, 1) == 1);
}

TEST_CASE("synthetic points lie around the centre of their class", "[features]") {
  const std::int64_t inputs = 400;
  const SyntheticClusters train({inputs, 7, 3, "train"});
  const SyntheticClusters held_back({inputs, 7, 3, "validation"});
  const auto point = [&](const SyntheticClusters& table, std::int64_t row) {
    std::vector<float> features(static_cast<std::size_t>(inputs));
    std::int32_t label = -1;
    table.row(row, {nullptr, &label, features.data()});
    CHECK(label == row % 7);
    return features;
  };
  const auto distance = [](const std::vector<float>& a, const std::vector<float>& b) {
    double squares = 0.0;
    for (std::size_t i = 0; i < a.size(); ++i) squares += std::pow(a[i] - b[i], 2);
    return std::sqrt(squares / static_cast<double>(a.size()));
  };
  const std::vector<float> first = point(train, 2);
  CHECK(first == point(train, 2));
  // Two points of deviation 1: sqrt(2) apart in each number; sqrt(2 + 2) with centres of deviation
  // 1 that differ.
  CHECK(distance(first, point(train, 9)) == Approx(std::sqrt(2.0)).epsilon(0.12));
  CHECK(distance(first, point(held_back, 2)) == Approx(std::sqrt(2.0)).epsilon(0.12));
  CHECK(distance(first, point(train, 3)) == Approx(2.0).epsilon(0.12));
}

}  // namespace
}  // namespace pptrain
