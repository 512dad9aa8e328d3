#include <numeric>

#include "kernels/experts.hpp"
#include "nn/expert_balance.hpp"
#include "nn/operators/modules.hpp"

namespace pptrain {
namespace {

/// Chooses the experts that each row goes to, on every member alike.
class RouterModule final : public OperatorModule {
 public:
  RouterModule(const op::Router& kind, OperatorPlace place)
      : OperatorModule(std::move(place)), kind_(kind) {}

  void forward(Batch& batch, Pass& pass) override {
    Tensor choice = new_value(batch, output());
    experts().choose(pass.matrix(input()), kind_.normalised, choice);
    if (kind_.capacity > 0) {
      experts().limit(static_cast<std::size_t>(kind_.form.experts),
                      static_cast<std::size_t>(value(input()).rows),
                      static_cast<std::size_t>(kind_.capacity), choice);
    }
    if (batch.expert_rows != nullptr) {
      double* next = batch.expert_rows;
      for (const std::int32_t rows :
           count_rows(experts(), choice, {0, kind_.form.experts}, arena()))
        *next++ += rows;
    }
    pass.values[output()] = std::move(choice);
  }
  void backward_input(const Batch& batch, Pass& pass) override {
    Tensor dlogits = new_gradient(batch, input());
    experts().choose_backward(pass.matrix(input()), pass.matrix(output()), kind_.normalised,
                              pass.gradients[output()].matrix, dlogits);
    add_gradient(pass, input(), make_gradient(std::move(dlogits)));
  }

 private:
  op::Router kind_;
};

/// How far from balanced the experts are, over the rows of all replicas, and of all members where
/// each has its own.
class ExpertBalanceModule final : public OperatorModule {
 public:
  ExpertBalanceModule(const op::ExpertBalance& kind, OperatorPlace place)
      : OperatorModule(std::move(place)), kind_(kind) {}

  void forward(Batch& batch, Pass& pass) override {
    if (batch.balance == 0.0) return;
    // What is over the whole model has been counted once where the layer runs again.
    if (batch.balance_of_model && batch.balance_counts == nullptr) return;
    std::vector<double> sums = sums_over_rows(pass);
    if (context().division == WeightDivision::exchange)
      group().all_reduce_sum(sums.data(), sums.size());
    if (context().replicas != nullptr) context().replicas->all_reduce_sum(sums.data(), sums.size());
    if (batch.balance_of_model) {
      for (std::size_t k = 0; k < sums.size(); ++k) batch.balance_counts[k] += sums[k];
      return;
    }
    const std::vector<double> weights = balance_weights(kind_, sums.data());
    std::vector<Tensor>& s = statistics(pass);
    s.clear();
    s.push_back(uploaded(weights));
    if (batch.balance_sum == nullptr) return;
    add(std::inner_product(weights.begin(), weights.end(), sums.begin() + kind_.form.experts, 0.0),
        batch.balance_sum);
  }

  void backward_input(const Batch& batch, Pass& pass) override {
    if (batch.balance == 0.0) return;
    const Tensor of_model =
        batch.balance_of_model ? uploaded(balance_weights(kind_, batch.chosen_rows)) : Tensor();
    const Tensor& weights = batch.balance_of_model ? of_model : statistics(pass)[0];
    Tensor dlogits = new_gradient(batch, input());
    experts().weighted_softmax_gradient(pass.matrix(input()), weights.f32(), batch.balance,
                                        dlogits);
    add_gradient(pass, input(), make_gradient(std::move(dlogits)));
  }

 private:
  Device& device() const { return arena().device(); }
  std::size_t num_experts() const { return static_cast<std::size_t>(kind_.form.experts); }
  /// How many rows have chosen each expert, then the sum of its softmax.
  std::vector<double> sums_over_rows(const Pass& pass) const {
    std::vector<double> sums(2 * num_experts());
    const Buffer on_device(arena(), sums.size() * sizeof(double));
    experts().sum(pass.matrix(input(0)), pass.matrix(input(1)),
                  static_cast<double*>(on_device.data()));
    device().download(sums.data(), on_device.data(), on_device.bytes());
    return sums;
  }
  /// Numbers of the experts in memory of the device.
  Tensor uploaded(const std::vector<double>& numbers) const {
    const std::vector<float> rounded(numbers.begin(), numbers.end());
    Tensor there(arena(), 1, num_experts());
    device().upload(there.f32(), rounded.data(), rounded.size() * sizeof(float));
    return there;
  }
  /// *sum += value, in memory of the device.
  void add(double value, double* sum) const {
    double total = 0.0;
    device().download(&total, sum, sizeof(total));
    total += value;
    device().upload(sum, &total, sizeof(total));
  }

  op::ExpertBalance kind_;
};

}  // namespace

std::vector<double> balance_weights(const op::ExpertBalance& balance, const double* chosen_rows) {
  const double chosen = std::accumulate(chosen_rows, chosen_rows + balance.form.experts, 0.0);
  const double rows = chosen / static_cast<double>(balance.form.chosen);
  std::vector<double> weights;
  for (std::int64_t e = 0; e < balance.form.experts; ++e) {
    weights.push_back(balance.share * static_cast<double>(balance.form.experts) * chosen_rows[e] /
                      rows);
  }
  return weights;
}

std::unique_ptr<OperatorModule> make_module(const op::ExpertBalance& kind, OperatorPlace place) {
  return std::make_unique<ExpertBalanceModule>(kind, std::move(place));
}
std::unique_ptr<OperatorModule> make_module(const op::Router& kind, OperatorPlace place) {
  return std::make_unique<RouterModule>(kind, std::move(place));
}

}  // namespace pptrain
