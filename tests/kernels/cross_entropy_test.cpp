#include <cmath>
#include <cstdint>
#include <vector>

#include "kernels/kernels.hpp"
#include "kernels/test_matrix.hpp"

using namespace pptrain;
using namespace pptrain::test;

namespace {

/// Logits in double, held within a cap above 0.
struct CappedLogits {
  const TestMatrix& given;
  double cap;

  double get(std::size_t r, std::size_t c) const {
    return cap > 0.0 ? cap * std::tanh(given.get(r, c) / cap) : given.get(r, c);
  }
  /// The derivative by the logit that was given.
  double slope(std::size_t r, std::size_t c) const {
    const double part = cap > 0.0 ? std::tanh(given.get(r, c) / cap) : 0.0;
    return 1.0 - part * part;
  }
};

/// Loss and gradient over the whole vocabulary in double.
struct Reference {
  double loss = 0;
  Values gradient;

  Reference(const TestMatrix& given, const std::vector<std::int32_t>& targets, double scale,
            const LossForm& form, double cap = 0.0) {
    const std::size_t columns = given.matrix().columns;
    const CappedLogits logits{given, cap};
    for (std::size_t r = 0; r < targets.size(); ++r) {
      double largest = -INFINITY, sum = 0;
      for (std::size_t c = 0; c < columns; ++c) largest = std::max(largest, logits.get(r, c));
      for (std::size_t c = 0; c < columns; ++c) sum += std::exp(logits.get(r, c) - largest);
      const double logz = std::log(sum) + largest;
      loss += logz + form.z_loss * logz * logz;
      for (std::size_t c = 0; c < columns; ++c) {
        const double own =
            c == static_cast<std::size_t>(targets[r]) ? 1.0 - form.label_smoothing : 0.0;
        const double target = own + form.label_smoothing / static_cast<double>(columns);
        loss -= target * logits.get(r, c);
        const double p =
            std::exp(logits.get(r, c) - largest) / sum * (1.0 + 2.0 * form.z_loss * logz);
        gradient.push_back((p - target) * scale * logits.slope(r, c));
      }
    }
  }
};

/// The three parts over vocabulary shards [bounds[i], bounds[i + 1]), reduced as ranks would.
double run_shards(const TestMatrix& logits, const std::vector<std::int32_t>& targets,
                  const std::vector<std::size_t>& bounds, float scale, const LossForm& form = {},
                  float cap = 0.0F) {
  const std::size_t rows = targets.size();
  std::vector<float> largest(rows, -INFINITY), sum(rows, 0.0f), target(rows, 0.0f), of_shard(rows),
      logit(rows);
  const auto shard = [&](std::size_t i) {
    return logits.matrix().columns_from(bounds[i], bounds[i + 1] - bounds[i]);
  };
  const auto of = [&](std::size_t i) {
    return form.targets(targets.data(), static_cast<std::int64_t>(bounds[i]),
                        static_cast<std::int64_t>(logits.matrix().columns));
  };
  for (std::size_t i = 0; i + 1 < bounds.size(); ++i) {
    host_kernels().cross_entropy_max(shard(i), of_shard.data());
    for (std::size_t r = 0; r < rows; ++r) largest[r] = std::max(largest[r], of_shard[r]);
  }
  for (std::size_t i = 0; i + 1 < bounds.size(); ++i) {
    host_kernels().cross_entropy_sum(shard(i), of(i), largest.data(), of_shard.data(),
                                     logit.data());
    host_kernels().add(of_shard.data(), sum.data(), rows);
    host_kernels().add(logit.data(), target.data(), rows);
  }
  for (std::size_t i = 0; i + 1 < bounds.size(); ++i) {
    host_kernels().cross_entropy_gradient(shard(i), of(i), largest.data(), sum.data(),
                                          {scale, static_cast<float>(form.z_loss), cap});
  }
  double loss = 0;
  host_kernels().cross_entropy_loss(largest.data(), sum.data(), target.data(), rows, &loss,
                                    form.z_loss);
  return loss;
}

/// How far the sum of the losses may be off. A smoothed target logit is rounded to fp32 as a
/// product, as the sum of all logits, and as the sum of both; logits are at most 210 here.
double loss_margin(std::size_t rows, const LossForm& form) {
  constexpr double largest = 210.0;
  return 1e-5 +
         (form.label_smoothing > 0.0 ? 3.0 * static_cast<double>(rows) * largest * 0x1p-24 : 0.0);
}

std::vector<std::int32_t> some_targets(std::size_t rows, std::size_t columns) {
  std::vector<std::int32_t> targets;
  for (std::size_t r = 0; r < rows; ++r)
    targets.push_back(static_cast<std::int32_t>(r * 7919 % columns));
  targets.back() = static_cast<std::int32_t>(columns - 1);
  return targets;
}

void check_shards(std::size_t rows, std::size_t columns, const std::vector<std::size_t>& bounds,
                  DType type, const LossForm& form = {}) {
  CAPTURE(rows, columns, bounds.size(), type_name(type), form.z_loss, form.label_smoothing);
  TestMatrix logits(rows, columns, type, 3), again(rows, columns, type, 3);
  logits.randomise(1, 10.0, 200.0);  // without subtraction of the maximum exp would overflow
  again.randomise(1, 10.0, 200.0);
  const std::vector<std::int32_t> targets = some_targets(rows, columns);
  const Reference reference(logits, targets, 0.125, form);
  const double loss = run_shards(logits, targets, bounds, 0.125f, form);
  REQUIRE(loss == Approx(reference.loss).epsilon(1e-6).margin(loss_margin(rows, form)));
  // Relative to itself beyond the error of f32, so that a probability near 1 keeps its difference
  // to 1.
  const double floor = type == DType::f32 ? 0.125 : 1e-4;
  REQUIRE(largest_error(logits.values(), reference.gradient, floor) <
          (type == DType::f32 ? 1e-6 : 6e-3));
  REQUIRE(logits.padding_is_untouched());
  REQUIRE(run_shards(again, targets, bounds, 0.125f, form) == loss);
  REQUIRE(again.bytes() == logits.bytes());
}

}  // namespace

TEST_CASE("cross-entropy against double, whole and over shards of the vocabulary", "[kernels]") {
  for (const DType type : all_types) {
    check_shards(1, 1, {0, 1}, type);
    check_shards(5, 257, {0, 257}, type);
    check_shards(5, 257, {0, 100, 101, 257}, type);
    check_shards(5, 257, {0, 100, 101, 257}, type, {1e-3, 0.0});
    check_shards(5, 257, {0, 100, 101, 257}, type, {0.0, 0.1});
    check_shards(5, 257, {0, 257}, type, {1e-3, 0.2});
    check_shards(3, 50257, {0, 50257}, type);
    check_shards(3, 50257, {0, 16753, 33506, 50257}, type);
  }
}

TEST_CASE("logits are held within a cap, and their gradients know it", "[kernels]") {
  for (const float cap : {30.0F, 8.0F}) {
    TestMatrix logits(5, 257, DType::f32, 3);
    logits.randomise(1, 10.0);
    const std::vector<std::int32_t> targets = some_targets(5, 257);
    const Reference reference(logits, targets, 0.125, {1e-3, 0.1}, cap);
    host_kernels().soft_cap(logits, cap);
    const double loss = run_shards(logits, targets, {0, 100, 101, 257}, 0.125F, {1e-3, 0.1}, cap);
    CHECK(loss == Approx(reference.loss).epsilon(1e-6));
    CHECK(largest_error(logits.values(), reference.gradient, 0.125) < 1e-6);
    CHECK(logits.padding_is_untouched());
  }
  for (const DType type : {DType::bf16, DType::f16}) {
    TestMatrix logits(5, 257, type, 3);
    logits.randomise(1, 10.0);
    Values capped;
    for (const double x : logits.values()) capped.push_back(8.0 * std::tanh(x / 8.0));
    host_kernels().soft_cap(logits, 8.0F);
    CHECK(largest_error(logits.values(), capped) < 1e-6 + rounding(type));
  }
}

TEST_CASE("rows without a target count neither in the loss nor in the gradient", "[kernels]") {
  for (const DType type : all_types) {
    for (const LossForm& form : {LossForm(), LossForm{1e-3, 0.0}, LossForm{0.0, 0.1}}) {
      TestMatrix all(4, 257, type, 3), some(4, 257, type, 3);
      for (TestMatrix* logits : {&all, &some}) logits->randomise(1, 10.0, 200.0);
      const Reference first(all, {5}, 0.125, form);
      const double loss = run_shards(all, {5, 6, 7, 8}, {0, 100, 257}, 0.125f, form);
      const double of_first = run_shards(some, {5, -100, -100, -100}, {0, 100, 257}, 0.125f, form);
      REQUIRE(of_first == Approx(first.loss).epsilon(1e-6).margin(loss_margin(1, form)));
      REQUIRE(of_first < loss);
      for (std::size_t c = 0; c < 257; ++c) {
        REQUIRE(some.get(0, c) == all.get(0, c));
        for (std::size_t r = 1; r < 4; ++r) REQUIRE(some.get(r, c) == 0.0);
      }
    }
  }
}

TEST_CASE("cross-entropy with logits far apart", "[kernels]") {
  TestMatrix logits(1, 4);
  logits.set(0, 0, -1e30);
  logits.set(0, 1, 3e4);
  logits.set(0, 2, -INFINITY);
  logits.set(0, 3, 0.0);
  const double loss = run_shards(logits, {3}, {0, 4}, 1.0f);
  REQUIRE(loss == Approx(3e4));
  REQUIRE(logits.values() == Values{0.0, 1.0, 0.0, -1.0});
}

TEST_CASE("a NaN among the logits makes the loss NaN wherever it stands", "[kernels]") {
  for (const std::size_t columns : {1, 3, 32, 100}) {
    for (std::size_t place = 0; place < columns; ++place) {
      CAPTURE(columns, place);
      TestMatrix logits(2, columns);
      logits.randomise(1);
      logits.set(1, place, NAN);
      REQUIRE(std::isnan(run_shards(logits, {0, 0}, {0, columns}, 1.0f)));
      REQUIRE(std::isnan(logits.get(1, place)));
      REQUIRE(std::isfinite(logits.get(0, place)));
    }
  }
}
