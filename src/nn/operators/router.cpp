#include <numeric>

#include "kernels/experts.hpp"
#include "nn/operators/modules.hpp"

namespace pptrain {
namespace {

/// Which experts each row goes to, on every member alike.
class RouterModule final : public OperatorModule {
 public:
  RouterModule(const op::Router& kind, OperatorPlace place) : OperatorModule(std::move(place)), kind_(kind) {}

  void forward(Batch& batch, Pass& pass) override {
    Tensor choice = new_value(batch, output());
    experts().choose(pass.matrix(input()), kind_.normalised, choice);
    if (kind_.capacity > 0) {
      experts().limit(static_cast<std::size_t>(kind_.form.experts), static_cast<std::size_t>(value(input()).rows),
                      static_cast<std::size_t>(kind_.capacity), choice);
    }
    if (batch.expert_rows != nullptr) {
      double* next = batch.expert_rows;
      for (const std::int32_t rows : count_rows(experts(), choice, {0, kind_.form.experts}, arena())) *next++ += rows;
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

/// How far from balanced the experts are, over the rows of all replicas, and of all members where each has its own.
class ExpertBalanceModule final : public OperatorModule {
 public:
  ExpertBalanceModule(const op::ExpertBalance& kind, OperatorPlace place)
      : OperatorModule(std::move(place)), kind_(kind) {}

  void forward(Batch& batch, Pass& pass) override {
    if (batch.balance == 0.0) return;
    std::vector<double> sums = sums_over_rows(pass);
    if (context().division == WeightDivision::exchange) group().all_reduce_sum(sums.data(), sums.size());
    if (context().replicas != nullptr) context().replicas->all_reduce_sum(sums.data(), sums.size());
    std::vector<float> weights;
    const double rows = std::accumulate(sums.begin(), sums.begin() + kind_.form.experts, 0.0) / chosen();
    double balance = 0.0;
    for (std::size_t e = 0; e < num_experts(); ++e) {
      // What an expert's mean softmax counts for, times the rows of the micro-batch.
      const double weight = kind_.share * static_cast<double>(num_experts()) * sums[e] / rows;
      weights.push_back(static_cast<float>(weight));
      balance += weight * sums[num_experts() + e];
    }
    std::vector<Tensor>& s = statistics(pass);
    s.clear();
    s.emplace_back(arena(), 1, num_experts());
    device().upload(s[0].f32(), weights.data(), weights.size() * sizeof(float));
    if (batch.balance_sum != nullptr) add(balance, batch.balance_sum);
  }

  void backward_input(const Batch& batch, Pass& pass) override {
    if (batch.balance == 0.0) return;
    Tensor dlogits = new_gradient(batch, input());
    experts().weighted_softmax_gradient(pass.matrix(input()), statistics(pass)[0].f32(), batch.balance, dlogits);
    add_gradient(pass, input(), make_gradient(std::move(dlogits)));
  }

 private:
  Device& device() const { return arena().device(); }
  std::size_t num_experts() const { return static_cast<std::size_t>(kind_.form.experts); }
  /// How many rows have chosen each expert, then the sum of its softmax.
  std::vector<double> sums_over_rows(const Pass& pass) const {
    std::vector<double> sums(2 * num_experts());
    const Buffer on_device(arena(), sums.size() * sizeof(double));
    experts().sum(pass.matrix(input(0)), pass.matrix(input(1)), static_cast<double*>(on_device.data()));
    device().download(sums.data(), on_device.data(), on_device.bytes());
    return sums;
  }
  /// *sum += value, in memory of the device.
  void add(double value, double* sum) const {
    double total = 0.0;
    device().download(&total, sum, sizeof(total));
    total += value;
    device().upload(sum, &total, sizeof(total));
  }
  double chosen() const { return static_cast<double>(kind_.form.chosen); }

  op::ExpertBalance kind_;
};

}  // namespace

std::unique_ptr<OperatorModule> make_module(const op::ExpertBalance& kind, OperatorPlace place) {
  return std::make_unique<ExpertBalanceModule>(kind, std::move(place));
}
std::unique_ptr<OperatorModule> make_module(const op::Router& kind, OperatorPlace place) {
  return std::make_unique<RouterModule>(kind, std::move(place));
}

}  // namespace pptrain
