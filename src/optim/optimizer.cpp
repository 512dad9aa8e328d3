#include "optim/optimizer.hpp"

#include <algorithm>
#include <cmath>

namespace pptrain {
namespace {

/// The state of a run starts on a cache line.
std::size_t aligned(std::size_t n) { return (n + 15) / 16 * 16; }

std::size_t state_size(const std::vector<ParameterRun>& runs) {
  std::size_t size = 0;
  for (const ParameterRun& run : runs) size += aligned(run.size);
  return size;
}

/// Loshchilov and Hutter, "Decoupled weight decay regularization", ICLR 2019.
class AdamW final : public Optimizer {
 public:
  AdamW(const OptimizerConfig& config, std::vector<ParameterRun> runs, Arena& arena, Kernels& kernels)
      : config_(config),
        kernels_(kernels),
        runs_(std::move(runs)),
        first_(arena, 1, state_size(runs_)),
        second_(arena, 1, state_size(runs_)) {
    kernels_.fill_zero(first_.f32(), first_.size());
    kernels_.fill_zero(second_.f32(), second_.size());
    std::size_t state = 0;
    for (const ParameterRun& run : runs_) {
      const float weight_decay = run.decays ? static_cast<float>(config_.weight_decay) : 0.0F;
      with_state_.push_back({run.weights, run.gradients, first_.f32() + state, second_.f32() + state, run.copies,
                             run.size, weight_decay});
      state += aligned(run.size);
    }
  }

  using Optimizer::step;
  void step(const StepValues& values, const std::function<void(std::size_t)>& updated) override {
    const double number = static_cast<double>(values.step) + 1.0;
    AdamWStep step = {};
    step.learning_rate = static_cast<float>(values.learning_rate);
    step.beta1 = static_cast<float>(config_.beta1);
    step.beta2 = static_cast<float>(config_.beta2);
    step.epsilon = static_cast<float>(config_.epsilon);
    step.gradient_scale = static_cast<float>(values.gradient_scale);
    step.bias_correction1 = static_cast<float>(1.0 - std::pow(config_.beta1, number));
    step.bias_correction2 = static_cast<float>(1.0 - std::pow(config_.beta2, number));
    for (std::size_t r = 0; r < with_state_.size();) {
      const std::size_t last = r + kernels_.adamw(&with_state_[r], with_state_.size() - r, step);
      for (; r < last; ++r) updated(r);
    }
  }

  std::vector<std::vector<float*>> state() override {
    std::vector<std::vector<float*>> quantities;
    for (const Tensor* quantity : {&first_, &second_}) {
      std::vector<float*>& of_runs = quantities.emplace_back();
      std::size_t offset = 0;
      for (const ParameterRun& run : runs_) {
        of_runs.push_back(quantity->f32() + offset);
        offset += aligned(run.size);
      }
    }
    return quantities;
  }

 private:
  OptimizerConfig config_;
  Kernels& kernels_;
  std::vector<ParameterRun> runs_;
  Tensor first_;   // m
  Tensor second_;  // v
  std::vector<AdamWRun> with_state_;
};

/// Plain stochastic gradient descent: no momentum, no weight decay.
class Sgd final : public Optimizer {
 public:
  Sgd(std::vector<ParameterRun> runs, Kernels& kernels) : runs_(std::move(runs)), kernels_(kernels) {}

  using Optimizer::step;
  void step(const StepValues& values, const std::function<void(std::size_t)>& updated) override {
    for (std::size_t r = 0; r < runs_.size(); ++r) {
      const ParameterRun& run = runs_[r];
      kernels_.sgd(run.weights, run.gradients, run.copies, run.size, static_cast<float>(values.learning_rate),
                   static_cast<float>(values.gradient_scale));
      updated(r);
    }
  }
  std::vector<std::vector<float*>> state() override { return {}; }

 private:
  std::vector<ParameterRun> runs_;
  Kernels& kernels_;
};

}  // namespace

std::unique_ptr<Optimizer> make_optimizer(const OptimizerConfig& config, std::vector<ParameterRun> runs, Arena& arena,
                                          Kernels& kernels) {
  if (config.name == "sgd") return std::make_unique<Sgd>(std::move(runs), kernels);
  return std::make_unique<AdamW>(config, std::move(runs), arena, kernels);
}

std::vector<std::string> state_names(const OptimizerConfig& config) {
  if (config.name == "sgd") return {};
  return {"m", "v"};
}

double clip_factor(double norm, double clip) {
  if (clip <= 0.0) return 1.0;
  return std::min(1.0, clip / (norm + 1e-6));
}

}  // namespace pptrain
