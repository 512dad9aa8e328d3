#include "optim/optimizer.hpp"

#include <algorithm>
#include <cmath>

#include "base/error.hpp"
#include "optim/offloaded_moments.hpp"

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
  AdamW(const OptimizerConfig& config, const std::vector<ParameterRun>& runs, Arena& arena, Kernels& kernels,
        StatePlace place)
      : config_(config), kernels_(kernels), device_(arena.device()), host_(0, {}, device_.host_memory()) {
    const std::size_t size = state_size(runs);
    Arena& state = place == StatePlace::host ? host_ : arena;
    state_device_ = &state.device();
    first_ = Tensor(state, 1, size);
    second_ = Tensor(state, 1, size);
    for (const Tensor* moments : {&first_, &second_}) state_device_->fill(moments->f32(), 0, moments->bytes());
    for (const ParameterRun& run : runs) {
      offsets_.push_back(with_state_.empty() ? 0 : offsets_.back() + aligned(with_state_.back().size));
      const float weight_decay = run.decays ? static_cast<float>(config_.weight_decay) : 0.0F;
      with_state_.push_back({run.weights, run.gradients, first_.f32() + offsets_.back(),
                             second_.f32() + offsets_.back(), run.copies, run.size, weight_decay});
    }
    if (place == StatePlace::device) return;
    offloaded_ =
        std::make_unique<OffloadedMoments>(with_state_, offsets_, size, first_.f32(), second_.f32(), arena, kernels_);
  }
  ~AdamW() override {
    // Pinned memory that copies under way write must not be given back.
    try {
      if (offloaded_) device_.synchronize();
    } catch (const Error&) {
      // The device has failed, which ends the job elsewhere.
    }
  }
  AdamW(const AdamW&) = delete;
  AdamW& operator=(const AdamW&) = delete;

  using Optimizer::step;
  void step(const StepValues& values, const std::function<void(std::size_t)>& updated) override {
    const AdamWStep step = numbers_of(values);
    if (offloaded_) return offloaded_->step(step, updated);
    for (std::size_t r = 0; r < with_state_.size();) {
      const std::size_t last = r + kernels_.adamw(&with_state_[r], with_state_.size() - r, step);
      for (; r < last; ++r) updated(r);
    }
  }

  std::vector<std::vector<float*>> state() override {
    if (offloaded_) device_.synchronize();  // the host reads it without the device
    std::vector<std::vector<float*>> quantities;
    for (const Tensor* quantity : {&first_, &second_}) {
      std::vector<float*>& of_runs = quantities.emplace_back();
      for (const std::size_t offset : offsets_) of_runs.push_back(quantity->f32() + offset);
    }
    return quantities;
  }
  Device& state_device() override { return *state_device_; }

 private:
  AdamWStep numbers_of(const StepValues& values) const {
    const double number = static_cast<double>(values.step) + 1.0;
    AdamWStep step = {};
    step.learning_rate = static_cast<float>(values.learning_rate);
    step.beta1 = static_cast<float>(config_.beta1);
    step.beta2 = static_cast<float>(config_.beta2);
    step.epsilon = static_cast<float>(config_.epsilon);
    step.gradient_scale = static_cast<float>(values.gradient_scale);
    step.bias_correction1 = static_cast<float>(1.0 - std::pow(config_.beta1, number));
    step.bias_correction2 = static_cast<float>(1.0 - std::pow(config_.beta2, number));
    return step;
  }

  OptimizerConfig config_;
  Kernels& kernels_;
  Device& device_;
  Arena host_;  // of offloaded state
  Device* state_device_ = nullptr;
  Tensor first_;                      // m
  Tensor second_;                     // v
  std::vector<AdamWRun> with_state_;  // of offloaded state, where it lies
  std::vector<std::size_t> offsets_;  // of their state
  std::unique_ptr<OffloadedMoments> offloaded_;
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
  Device& state_device() override { return host_device(); }

 private:
  std::vector<ParameterRun> runs_;
  Kernels& kernels_;
};

}  // namespace

std::unique_ptr<Optimizer> make_optimizer(const OptimizerConfig& config, std::vector<ParameterRun> runs, Arena& arena,
                                          Kernels& kernels, StatePlace place) {
  if (config.name == "sgd") return std::make_unique<Sgd>(std::move(runs), kernels);
  return std::make_unique<AdamW>(config, runs, arena, kernels, place);
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
