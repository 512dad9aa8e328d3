#include <cmath>
#include <vector>

#include "base/random.hpp"
#include "kernels/expert_order.hpp"
#include "support/catch.hpp"

namespace pptrain {
namespace {

Matrix matrix(std::vector<float>& values, std::size_t columns) {
  return {values.data(), values.size() / columns, columns};
}

/// The order of dispatched rows, with what the tests ask of it.
struct Order {
  Arena arena;
  ExpertOrder order;

  Order(const Matrix& choice, Interval own) : order(host_experts(), choice, own, arena) {}
  ExpertPlaces places() const { return order.places(); }
  std::vector<float> weights(const Matrix& choice) const {
    std::vector<float> weights(order.num_dispatched());
    host_experts().take_weights(places(), choice, weights.data());
    return weights;
  }
};

std::vector<double> sums_of(const Matrix& logits, const Matrix& choice) {
  std::vector<double> sums(2 * logits.columns, -1.0);
  host_experts().sum(logits, choice, sums.data());
  return sums;
}

/// Weights and numbers of `chosen` experts for one row of logits.
std::vector<float> choice_of(std::vector<float> logits, std::size_t chosen, bool normalised) {
  std::vector<float> choice(2 * chosen);
  host_experts().choose(matrix(logits, logits.size()), normalised, matrix(choice, choice.size()));
  return choice;
}

std::vector<float> numbers_of(const std::vector<float>& choice) {
  return {choice.begin() + static_cast<std::ptrdiff_t>(choice.size() / 2), choice.end()};
}

TEST_CASE("the experts with the largest logits are chosen, of equal ones those of lower numbers") {
  CHECK(numbers_of(choice_of({0.5F, 2.0F, -1.0F, 2.0F}, 3, true)) == std::vector<float>{1, 3, 0});
  CHECK(numbers_of(choice_of({1.0F, 1.0F, 1.0F, 1.0F}, 2, false)) == std::vector<float>{0, 1});
  CHECK(numbers_of(choice_of({3.0F, 2.0F, 1.0F}, 3, false)) == std::vector<float>{0, 1, 2});
}

TEST_CASE("weights are the softmax over all experts, or over the chosen ones") {
  const std::vector<float> logits = {0.0F, std::log(3.0F), std::log(2.0F), std::log(4.0F)};
  const std::vector<float> all = choice_of(logits, 2, false);
  CHECK((all[0] == Approx(0.4) && all[1] == Approx(0.3)));
  const std::vector<float> normalised = choice_of(logits, 2, true);
  CHECK((normalised[0] == Approx(4.0 / 7) && normalised[1] == Approx(3.0 / 7)));
  const std::vector<float> large = choice_of({1e4F, -1e4F, 1e4F}, 2, false);
  CHECK((large[0] == 0.5F && large[1] == 0.5F));
}

TEST_CASE("logits that are no numbers choose experts that there are, with weights that are none") {
  for (const bool normalised : {true, false}) {
    const std::vector<float> choice = choice_of({NAN, NAN, NAN}, 2, normalised);
    CHECK(numbers_of(choice) == std::vector<float>{0, 1});
    CHECK((std::isnan(choice[0]) && std::isnan(choice[1])));
  }
}

TEST_CASE("dispatched rows lie expert by expert, each of these in the order of the rows") {
  // Rows go to (2, 0), (0, 1), (2, 1); the fourth expert has none.
  std::vector<float> choice = {0.6F, 0.4F, 2, 0, 0.7F, 0.3F, 0, 1, 0.9F, 0.1F, 2, 1};
  const Order order(matrix(choice, 4), {0, 4});
  std::vector<float> x = {1, 10, 2, 20, 3, 30}, rows(12), back(6);
  host_experts().dispatch(order.places(), matrix(x, 2), matrix(rows, 2));
  CHECK(rows == std::vector<float>{1, 10, 2, 20, 2, 20, 3, 30, 1, 10, 3, 30});
  CHECK((order.order.begin(0) == 0 && order.order.count(0) == 2 && order.order.count(1) == 2 &&
         order.order.count(2) == 2));
  CHECK(order.order.count(3) == 0);
  CHECK(order.weights(matrix(choice, 4)) == std::vector<float>{0.4F, 0.7F, 0.3F, 0.1F, 0.6F, 0.9F});
  host_experts().combine(order.places(), matrix(rows, 2), matrix(back, 2));
  CHECK(back == std::vector<float>{2, 20, 4, 40, 6, 60});
}

TEST_CASE(
    "a member has the rows of its own experts, and a row that goes to none of them adds nothing") {
  // Rows go to (2, 0), (0, 1), (2, 1), (3, 0).
  std::vector<float> choice = {0.6F, 0.4F, 2, 0, 0.7F, 0.3F, 0, 1,
                               0.9F, 0.1F, 2, 1, 0.8F, 0.2F, 3, 0};
  std::vector<float> x = {1, 10, 2, 20, 3, 30, 4, 40}, whole(16), sum(8, 0.0F);
  const Order all(matrix(choice, 4), {0, 4});
  host_experts().dispatch(all.places(), matrix(x, 2), matrix(whole, 2));
  for (const Interval& own : {Interval{0, 1}, {1, 3}, {3, 4}}) {
    const Order order(matrix(choice, 4), own);
    const std::int64_t first = own.begin, last = own.end - 1;
    REQUIRE(order.order.num_dispatched() ==
            all.order.begin(last) + all.order.count(last) - all.order.begin(first));
    std::vector<float> rows(2 * order.order.num_dispatched()), back(8, -1.0F);
    host_experts().dispatch(order.places(), matrix(x, 2), matrix(rows, 2));
    CHECK(std::equal(rows.begin(), rows.end(),
                     whole.begin() + static_cast<std::ptrdiff_t>(2 * all.order.begin(first))));
    const std::vector<float> weights = order.weights(matrix(choice, 4));
    CHECK(std::equal(weights.begin(), weights.end(),
                     all.weights(matrix(choice, 4)).begin() +
                         static_cast<std::ptrdiff_t>(all.order.begin(first))));
    host_experts().combine(order.places(), matrix(rows, 2), matrix(back, 2));
    for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += back[i];
  }
  CHECK(sum == std::vector<float>{2, 20, 4, 40, 6, 60, 8, 80});
  CHECK(Order(matrix(choice, 4), {1, 3}).places().data[3 * 2] < 0);
}

TEST_CASE("what becomes of a row does not depend on the rows beside it") {
  constexpr std::size_t rows = 64, experts = 7, chosen = 3;
  std::vector<float> logits(rows * experts), together(rows * 2 * chosen);
  CounterRandom(5, "logits").fill_normal(0, logits.size(), logits.data());
  host_experts().choose(matrix(logits, experts), false, matrix(together, 2 * chosen));
  for (std::size_t row = 0; row < rows; ++row) {
    const auto first = logits.begin() + static_cast<std::ptrdiff_t>(row * experts);
    const std::vector<float> alone = choice_of({first, first + experts}, chosen, false);
    CHECK(std::equal(alone.begin(), alone.end(),
                     together.begin() + static_cast<std::ptrdiff_t>(row * 2 * chosen)));
  }
}

TEST_CASE(
    "a full expert takes first choices before second ones and earlier rows before later ones") {
  // Two samples of three rows, two choices each of four experts, of which each takes two rows of a
  // sample.
  std::vector<float> choice = {.6F, .4F, 0, 1, .6F, .4F, 0, 1, .7F, .3F, 1, 0,
                               .6F, .4F, 2, 0, .6F, .4F, 2, 0, .8F, .2F, 2, 0};
  host_experts().limit(4, 3, 2, matrix(choice, 4));
  std::vector<float> numbers;
  for (std::size_t i = 0; i < choice.size(); ++i) {
    if (i % 4 > 1) numbers.push_back(choice[i]);
  }
  // Expert 1 has a first choice of row 2 before second ones of rows 0 and 1; 0 is full when row 2
  // would have it second.
  CHECK(numbers == std::vector<float>{0, 1, 0, 5, 1, 4, 2, 0, 2, 0, 6, 4});
  CHECK((choice[0] == .6F && choice[5] == .4F && choice[20] == .8F));  // weights stay
  const Order order(matrix(choice, 4), {0, 4});
  CHECK((order.order.num_dispatched() == 8 && order.order.count(0) == 4 &&
         order.order.count(1) == 2 && order.order.count(2) == 2));
  CHECK(order.places().data[5 * 2] < 0);
  Arena arena;
  CHECK(count_rows(host_experts(), matrix(choice, 4), {0, 4}, arena) ==
        std::vector<std::int32_t>{4, 2, 2, 0});
  std::vector<float> logits(24, 0.0F);
  const std::vector<double> sums = sums_of(matrix(logits, 4), matrix(choice, 4));
  CHECK((sums[0] == 6 && sums[1] == 3 && sums[2] == 3));  // who wanted them
}

TEST_CASE("choices and probabilities of experts are summed over rows") {
  std::vector<float> logits = {0, 0, 0, 0, std::log(2.0F), 0, 0, 0};
  std::vector<float> choice = {0.25F, 3, 0.4F, 0};
  const std::vector<double> sums = sums_of(matrix(logits, 4), matrix(choice, 2));
  CHECK((sums[0] == 1 && sums[1] == 0 && sums[3] == 1));
  CHECK(sums[4] == Approx(0.25 + 0.4));
  CHECK(sums[5] == Approx(0.25 + 0.2));
}

}  // namespace
}  // namespace pptrain
