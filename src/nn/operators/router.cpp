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
    choose_experts(pass.matrix(input()), kind_.normalised, choice);
    const auto experts = static_cast<std::size_t>(kind_.form.experts);
    if (kind_.capacity > 0) {
      limit_experts(experts, static_cast<std::size_t>(value(input()).rows), static_cast<std::size_t>(kind_.capacity),
                    choice);
    }
    if (batch.expert_rows != nullptr) count_experts(choice, experts, batch.expert_rows);
    pass.values[output()] = std::move(choice);
  }
  void backward_input(const Batch& batch, Pass& pass) override {
    Tensor dlogits = new_gradient(batch, input());
    choose_experts_backward(pass.matrix(input()), pass.matrix(output()), kind_.normalised,
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
    std::vector<double> sums = expert_sums(pass.matrix(input(0)), pass.matrix(input(1)));
    if (context().division == WeightDivision::exchange) group().all_reduce_sum(sums.data(), sums.size());
    if (context().replicas != nullptr) context().replicas->all_reduce_sum(sums.data(), sums.size());
    std::vector<Tensor>& s = statistics(pass);
    s.clear();
    s.emplace_back(arena(), 1, experts());
    const double rows = std::accumulate(sums.begin(), sums.begin() + kind_.form.experts, 0.0) / chosen();
    double balance = 0.0;
    for (std::size_t e = 0; e < experts(); ++e) {
      // What an expert's mean softmax counts for, times the rows of the micro-batch.
      const double weight = kind_.share * static_cast<double>(experts()) * sums[e] / rows;
      s[0].f32()[e] = static_cast<float>(weight);
      balance += weight * sums[experts() + e];
    }
    if (batch.balance_sum != nullptr) *batch.balance_sum += balance;
  }

  void backward_input(const Batch& batch, Pass& pass) override {
    if (batch.balance == 0.0) return;
    std::vector<double> weights(experts());
    for (std::size_t e = 0; e < experts(); ++e) {
      weights[e] = batch.balance * static_cast<double>(statistics(pass)[0].f32()[e]);
    }
    Tensor dlogits = new_gradient(batch, input());
    weighted_softmax_gradient(pass.matrix(input()), weights, dlogits);
    add_gradient(pass, input(), make_gradient(std::move(dlogits)));
  }

 private:
  std::size_t experts() const { return static_cast<std::size_t>(kind_.form.experts); }
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
