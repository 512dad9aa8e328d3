#include "kernels/bodies/experts.hpp"

#include "base/error.hpp"
#include "kernels/bodies/typed_rows.hpp"
#include "kernels/host/host_experts.hpp"
#include "kernels/host/launch.hpp"

namespace pptrain {

using namespace kernels;
using bodies::RowSoftmax;

namespace {

/// body(row) for rows that are computed alone.
template <class Body>
void launch_each(const char* name, std::size_t rows, const Body& body) {
  launch_rows(name, 0, rows, [=](const SerialTeam&, std::size_t row) { body(row); });
}

/// Calls `use` with the row, the place among its choices, and the number of each choice.
template <class Use>
void for_each_choice(const Matrix& choice, const Use& use) {
  const std::size_t chosen = choice.columns / 2;
  for (std::size_t row = 0; row < choice.rows; ++row) {
    for (std::size_t j = 0; j < chosen; ++j)
      use(row, j, RowSoftmax::at(choice.at<float>(row, chosen), j));
  }
}

/// use(row, j, e) for the choices of the experts first + e, e < experts.
template <class Use>
void for_each_choice_of(const Matrix& choice, std::int64_t first, std::size_t experts,
                        const Use& use) {
  for_each_choice(choice, [&](std::size_t row, std::size_t j, std::size_t number) {
    const std::size_t e = number - static_cast<std::size_t>(first);  // of experts before the first,
                                                                     // very large
    if (e < experts) use(row, j, e);
  });
}

}  // namespace

void HostExperts::choose(const Matrix& logits, bool normalised, const Matrix& choice) {
  const std::size_t experts = logits.columns, chosen = choice.columns / 2;
  PPTRAIN_ASSERT(chosen > 0 && chosen <= experts && logits.rows == choice.rows, "{} of {} experts",
                 chosen, experts);
  launch_each("choose experts", logits.rows,
              bodies::ChooseExperts{read_rows<float>(logits), write_rows<float>(choice), experts,
                                    chosen, normalised});
}

void HostExperts::limit(std::size_t experts, std::size_t sample, std::size_t capacity,
                        const Matrix& choice) {
  const std::size_t chosen = choice.columns / 2;
  PPTRAIN_ASSERT(choice.rows % sample == 0, "{} rows in samples of {}", choice.rows, sample);
  launch_each("limit experts", choice.rows / sample, [&](std::size_t number) {
    std::vector<std::size_t> taken(experts, 0);
    for (std::size_t j = 0; j < chosen; ++j) {
      for (std::size_t row = number * sample; row < (number + 1) * sample; ++row) {
        float& expert = choice.at<float>(row, chosen)[j];
        if (++taken[static_cast<std::size_t>(expert)] > capacity)
          expert += static_cast<float>(experts);
      }
    }
  });
}

void HostExperts::choose_backward(const Matrix& logits, const Matrix& choice, bool normalised,
                                  const Matrix& dchoice, const Matrix& dlogits) {
  launch_each("choose experts backward", logits.rows,
              bodies::ChooseExpertsBackward{read_rows<float>(logits), read_rows<float>(choice),
                                            read_rows<float>(dchoice), write_rows<float>(dlogits),
                                            logits.columns, choice.columns / 2, normalised});
}

void HostExperts::sum(const Matrix& logits, const Matrix& choice, double* sums) {
  const std::size_t experts = logits.columns;
  std::fill_n(sums, 2 * experts, 0.0);
  for_each_choice(
      choice, [&](std::size_t, std::size_t, std::size_t number) { sums[number % experts] += 1.0; });
  for (std::size_t row = 0; row < logits.rows; ++row) {
    const RowSoftmax softmax(logits.at<float>(row), experts);
    for (std::size_t e = 0; e < experts; ++e) sums[experts + e] += static_cast<double>(softmax(e));
  }
}

void HostExperts::weighted_softmax_gradient(const Matrix& logits, const float* weights,
                                            double factor, const Matrix& dlogits) {
  launch_each("weighted softmax gradient", logits.rows,
              bodies::WeightedSoftmaxGradient{read_rows<float>(logits), weights, factor,
                                              write_rows<float>(dlogits), logits.columns});
}

void HostExperts::count(const Matrix& choice, std::int64_t first, std::size_t experts,
                        std::int32_t* counts) {
  std::fill_n(counts, experts, 0);
  for_each_choice_of(choice, first, experts,
                     [&](std::size_t, std::size_t, std::size_t e) { ++counts[e]; });
}

void HostExperts::place(const Matrix& choice, std::int64_t first, std::size_t experts,
                        const std::int32_t* begins, std::int32_t* places) {
  const std::size_t chosen = choice.columns / 2;
  std::fill_n(places, choice.rows * chosen, -1);
  std::vector<std::int32_t> next(begins, begins + experts);
  for_each_choice_of(choice, first, experts, [&](std::size_t row, std::size_t j, std::size_t e) {
    places[row * chosen + j] = next[e]++;
  });
}

void HostExperts::dispatch(const ExpertPlaces& places, const Matrix& x, const Matrix& out) {
  PPTRAIN_ASSERT(x.type == out.type && x.rows == places.rows, "{} rows", x.rows);
  with_type(x.type, [&](auto element) {
    using T = decltype(element);
    launch_rows("dispatch", 0, places.rows,
                bodies::DispatchRow<T>{places.data, places.chosen, read_rows<T>(x),
                                       write_rows<T>(out), x.columns});
  });
}

void HostExperts::combine(const ExpertPlaces& places, const Matrix& x, const Matrix& out) {
  PPTRAIN_ASSERT(x.type == DType::f32 && out.type == DType::f32 && out.rows == places.rows,
                 "{} rows", out.rows);
  launch_rows("combine", 0, places.rows,
              bodies::CombineRow{places.data, places.chosen, read_rows<float>(x),
                                 write_rows<float>(out), out.columns});
}

void HostExperts::take_weights(const ExpertPlaces& places, const Matrix& choice, float* weights) {
  launch_each("take weights", places.rows,
              bodies::TakeWeights{places.data, places.chosen, read_rows<float>(choice), weights});
}

void HostExperts::give_weights(const ExpertPlaces& places, const float* of_places,
                               const Matrix& dchoice) {
  launch_each("give weights", places.rows,
              bodies::GiveWeights{places.data, places.chosen, of_places, write_rows<float>(dchoice),
                                  dchoice.columns});
}

void HostExperts::pack_choices(const ExpertPlaces& places, const Matrix& choice, float sender,
                               const Matrix& packed) {
  launch_each("pack choices", places.rows,
              bodies::PackChoices{places.data, places.chosen, read_rows<float>(choice), sender,
                                  write_rows<float>(packed)});
}

void HostExperts::weigh(const Matrix& x, const float* weights, const Matrix& out) {
  PPTRAIN_ASSERT(x.type == out.type, "{} rows of two types", x.rows);
  with_type(x.type, [&](auto element) {
    using T = decltype(element);
    launch_rows("weigh rows", 0, x.rows,
                bodies::WeighRow<T>{read_rows<T>(x), weights, write_rows<T>(out), x.columns});
  });
}

void HostExperts::row_products(const Matrix& x, const Matrix& y, float* products) {
  PPTRAIN_ASSERT(x.type == y.type && x.rows == y.rows && x.columns == y.columns, "{} and {} rows",
                 x.rows, y.rows);
  with_type(x.type, [&](auto element) {
    using T = decltype(element);
    launch_rows("row products", 0, x.rows,
                bodies::RowProduct<T>{read_rows<T>(x), read_rows<T>(y), products, x.columns});
  });
}

void HostExperts::sigmoid(const Matrix& logits, float* weights) {
  launch_each("sigmoid", logits.rows, bodies::Sigmoid{read_rows<float>(logits), weights});
}

void HostExperts::sigmoid_backward(const float* dweights, const float* weights,
                                   const Matrix& dlogits) {
  launch_each("sigmoid backward", dlogits.rows,
              bodies::SigmoidBackward{dweights, weights, write_rows<float>(dlogits)});
}

ExpertKernels& host_experts() {
  static HostExperts experts;
  return experts;
}

}  // namespace pptrain
