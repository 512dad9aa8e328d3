#pragma once

#include "kernels/bodies/experts.hpp"
#include "kernels/bodies/typed_rows.hpp"
#include "kernels/experts.hpp"

namespace pptrain::kernels {

/// What devices of all kinds compute of experts by the shared bodies, each row by itself; what
/// looks for the rows of an expert is the device's own.
///
/// `Launch` has `each(name, rows, body)`, which calls body(row) for every row, and `rows(name,
/// rows, columns, body)`, which calls body(team, row) with a team for so many columns. C++17.
template <class Launch>
class LaunchedExperts : public ExpertKernels {
 public:
  explicit LaunchedExperts(const Launch& launch) : launch_(launch) {}

  void choose(const Matrix& logits, bool normalised, const Matrix& choice) override {
    const std::size_t experts = logits.columns, chosen = choice.columns / 2;
    check_experts_call(chosen > 0 && chosen <= experts && logits.rows == choice.rows, logits);
    launch_.each("choose experts", logits.rows,
                 bodies::ChooseExperts{read_rows<float>(logits), write_rows<float>(choice), experts,
                                       chosen, normalised});
  }
  void choose_backward(const Matrix& logits, const Matrix& choice, bool normalised,
                       const Matrix& dchoice, const Matrix& dlogits) override {
    launch_.each("choose experts backward", logits.rows,
                 bodies::ChooseExpertsBackward{
                     read_rows<float>(logits), read_rows<float>(choice), read_rows<float>(dchoice),
                     write_rows<float>(dlogits), logits.columns, choice.columns / 2, normalised});
  }
  void weighted_softmax_gradient(const Matrix& logits, const float* weights, double factor,
                                 const Matrix& dlogits) override {
    launch_.each("weighted softmax gradient", logits.rows,
                 bodies::WeightedSoftmaxGradient{read_rows<float>(logits), weights, factor,
                                                 write_rows<float>(dlogits), logits.columns});
  }
  void dispatch(const ExpertPlaces& places, const Matrix& x, const Matrix& out) override {
    check_experts_call(x.type == out.type && x.rows == places.rows, x);
    with_type(x.type, [&](auto element) {
      using T = decltype(element);
      launch_.rows("dispatch", places.rows, x.columns,
                   bodies::DispatchRow<T>{places.data, places.chosen, read_rows<T>(x),
                                          write_rows<T>(out), x.columns});
    });
  }
  void combine(const ExpertPlaces& places, const Matrix& x, const Matrix& out) override {
    check_experts_call(x.type == DType::f32 && out.type == DType::f32 && out.rows == places.rows,
                       out);
    launch_.rows("combine", places.rows, out.columns,
                 bodies::CombineRow{places.data, places.chosen, read_rows<float>(x),
                                    write_rows<float>(out), out.columns});
  }
  void take_weights(const ExpertPlaces& places, const Matrix& choice, float* weights) override {
    launch_.each(
        "take weights", places.rows,
        bodies::TakeWeights{places.data, places.chosen, read_rows<float>(choice), weights});
  }
  void give_weights(const ExpertPlaces& places, const float* of_places,
                    const Matrix& dchoice) override {
    launch_.each("give weights", places.rows,
                 bodies::GiveWeights{places.data, places.chosen, of_places,
                                     write_rows<float>(dchoice), dchoice.columns});
  }
  void pack_choices(const ExpertPlaces& places, const Matrix& choice, float sender,
                    const Matrix& packed) override {
    launch_.each("pack choices", places.rows,
                 bodies::PackChoices{places.data, places.chosen, read_rows<float>(choice), sender,
                                     write_rows<float>(packed)});
  }
  void weigh(const Matrix& x, const float* weights, const Matrix& out) override {
    check_experts_call(x.type == out.type, x);
    with_type(x.type, [&](auto element) {
      using T = decltype(element);
      launch_.rows("weigh rows", x.rows, x.columns,
                   bodies::WeighRow<T>{read_rows<T>(x), weights, write_rows<T>(out), x.columns});
    });
  }
  void row_products(const Matrix& x, const Matrix& y, float* products) override {
    check_experts_call(x.type == y.type && x.rows == y.rows && x.columns == y.columns, x);
    with_type(x.type, [&](auto element) {
      using T = decltype(element);
      launch_.rows("row products", x.rows, x.columns,
                   bodies::RowProduct<T>{read_rows<T>(x), read_rows<T>(y), products, x.columns});
    });
  }
  void sigmoid(const Matrix& logits, float* weights) override {
    launch_.each("sigmoid", logits.rows, bodies::Sigmoid{read_rows<float>(logits), weights});
  }
  void sigmoid_backward(const float* dweights, const float* weights,
                        const Matrix& dlogits) override {
    launch_.each("sigmoid backward", dlogits.rows,
                 bodies::SigmoidBackward{dweights, weights, write_rows<float>(dlogits)});
  }

 protected:
  Launch launch_;
};

}  // namespace pptrain::kernels
