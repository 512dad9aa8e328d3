#include "runtime/layer_timer.hpp"

#include <algorithm>
#include <chrono>
#include <vector>

#include "base/random.hpp"
#include "base/timing.hpp"
#include "nn/layer.hpp"
#include "optim/optimizer.hpp"
#include "runtime/execute/session.hpp"
#include "tensor/device_copy.hpp"

namespace pptrain {
namespace {

constexpr int copies_of_blocks = 3;
constexpr int fewest_passes = 3;
constexpr int most_passes = 15;
constexpr double enough_seconds = 0.15;

/// Seconds of work of a device, up to what it has been told so far.
double seconds_of_work(Device& device) {
  if (device.is_host()) return thread_cpu_seconds();
  device.synchronize();
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

/// A chain of copies of one layer with random inputs.
class Chain {
 public:
  Chain(const Config& config, const Model& model, const Layer& layer, int tensor_parallel, std::int64_t samples,
        const Backend& backend)
      : arena_(0, {}, backend.device),
        group_(tensor_parallel),
        context_{backend, arena_, group_, store_, model, activation_type(config.training.precision), {}},
        samples_(static_cast<std::size_t>(samples)),
        kind_(layer.kind) {
    const int copies = !reads_samples(kind_) && !computes_loss(kind_)
                           ? static_cast<int>(std::min<std::int64_t>(copies_of_blocks, config.model.layers))
                           : 1;
    for (int i = 0; i < copies; ++i) {
      Layer copy = layer;
      for (ParameterSpec& spec : copy.parameters) spec.name += "." + std::to_string(i);
      layers_.push_back(make_layer(copy, ChunkId(0), context_));
    }
    store_.allocate(arena_, context_.backend.kernels, context_.type);
    fill_random(store_, 1);
    optimizer_ = make_optimizer(config.optimizer, parameter_runs(store_), arena_, context_.backend.kernels);
    draw_samples(model);
    arena_.device().fill(sums_.data(), 0, sums_.bytes());
    resident_bytes_ = arena_.bytes_in_use();
  }

  LayerSeconds pass() {
    Batch batch;
    batch.samples = samples_;
    batch.tokens = tokens_on_device_;
    batch.targets = targets_on_device_;
    batch.features = features_on_device_;
    batch.loss_scale = 1e-3F;
    batch.loss = loss();
    std::vector<SavedPtr> saved(layers_.size());
    Tensor x = reads_samples(kind_) ? Tensor() : random_rows(batch);
    LayerSeconds seconds;
    double start = now();
    for (std::size_t l = 0; l < layers_.size(); ++l) x = layers_[l]->forward(batch, std::move(x), &saved[l]);
    seconds.forward = now() - start;
    stored_bytes_ = arena_.bytes_in_use() - resident_bytes_ - x.bytes();
    if (reads_samples(kind_)) x = random_rows(batch);  // as the gradient
    for (std::size_t l = layers_.size(); l-- > 0;) {
      start = now();
      x = layers_[l]->backward_input(batch, std::move(x), *saved[l]);
      const double middle = now();
      if (l + 1 == layers_.size()) deferred_bytes_ = deferred_by_last(x);
      layers_[l]->backward_weight(batch, *saved[l]);
      saved[l].reset();
      seconds.backward_input += middle - start;
      seconds.backward_weight += now() - middle;
    }
    const double share = 1.0 / static_cast<double>(layers_.size());
    return {seconds.forward * share, seconds.backward_input * share, seconds.backward_weight * share};
  }

  double update() {
    const double start = now();
    arena_.device().fill(squares(), 0, sizeof(double));
    for (const OwnPart& part : store_.own_parts())
      context_.backend.kernels.sum_of_squares(part.gradients, part.size, squares());
    double sum = 0.0;
    arena_.device().download(&sum, squares(), sizeof(sum));
    optimizer_->step({0, 1e-9, clip_factor(sum, 1.0)});
    return (now() - start) / static_cast<double>(layers_.size());
  }

  double now() const { return seconds_of_work(arena_.device()); }

  /// Of one layer. The most is in use in the backward of the last one, when all others hold what they store.
  LayerBytes bytes() const {
    const auto stored = static_cast<double>(stored_bytes_);
    const double most = static_cast<double>(arena_.peak_bytes()) - static_cast<double>(resident_bytes_);
    return {stored / static_cast<double>(layers_.size()), static_cast<double>(deferred_bytes_),
            std::max(0.0, most - stored)};
  }

 private:
  void draw_samples(const Model& model) {
    const std::size_t rows = samples_ * static_cast<std::size_t>(model.sequence_length);
    const std::size_t inputs = rows * static_cast<std::size_t>(model.inputs);
    const auto classes = static_cast<std::uint64_t>(model.is_classifier() ? model.classes : model.vocabulary_size);
    const CounterRandom random(2, "profile");
    std::int32_t* targets = targets_.host(rows);
    std::uint16_t* tokens = tokens_.host(rows);
    for (std::size_t i = 0; i < rows; ++i) {
      targets[i] = static_cast<std::int32_t>(random.bits(i) % classes);
      tokens[i] = static_cast<std::uint16_t>(targets[i]);
    }
    random.fill_normal(0, inputs, features_.host(inputs));
    targets_on_device_ = targets_.upload(arena_);
    tokens_on_device_ = tokens_.upload(arena_);
    features_on_device_ = features_.upload(arena_);
  }

  double* loss() const { return static_cast<double*>(sums_.data()); }
  double* squares() const { return loss() + 1; }

  /// What the last layer holds after its B, while the others hold what they store.
  std::size_t deferred_by_last(const Tensor& input_gradient) const {
    const std::size_t others = stored_bytes_ / layers_.size() * (layers_.size() - 1);
    return arena_.bytes_in_use() - resident_bytes_ - others - input_gradient.bytes();
  }

  Tensor random_rows(const Batch& batch) {
    Tensor x(arena_, context_.rows(batch), context_.hidden());
    random_rows_.resize(x.size());
    CounterRandom(3, "profile").fill_normal(0, x.size(), random_rows_.data());
    arena_.device().upload(x.f32(), random_rows_.data(), x.bytes());
    return x;
  }

  Arena arena_;
  Buffer sums_{arena_, 2 * sizeof(double)};  // loss, squares
  SilentCommunicator group_;
  ParameterStore store_;
  LayerContext context_;
  std::size_t samples_;
  LayerKind kind_;
  std::vector<std::unique_ptr<LayerModule>> layers_;
  std::unique_ptr<Optimizer> optimizer_;
  DeviceCopy<std::uint16_t> tokens_;
  DeviceCopy<std::int32_t> targets_;
  DeviceCopy<float> features_;
  const std::uint16_t* tokens_on_device_ = nullptr;
  const std::int32_t* targets_on_device_ = nullptr;
  const float* features_on_device_ = nullptr;
  std::vector<float> random_rows_;
  std::size_t resident_bytes_ = 0;
  std::size_t stored_bytes_ = 0;    // by all layers
  std::size_t deferred_bytes_ = 0;  // by one
};

}  // namespace

LayerTiming time_layer(const Config& config, const Model& model, const Layer& layer, int tensor_parallel,
                       std::int64_t samples, const Backend& backend) {
  Chain chain(config, model, layer, tensor_parallel, samples, backend);
  chain.pass();  // allocates and warms up
  std::vector<double> forward;
  std::vector<double> backward_input;
  std::vector<double> backward_weight;
  std::vector<double> update;
  const double start = chain.now();
  for (int i = 0; i < fewest_passes || (i < most_passes && chain.now() - start < enough_seconds); ++i) {
    const LayerSeconds seconds = chain.pass();
    forward.push_back(seconds.forward);
    backward_input.push_back(seconds.backward_input);
    backward_weight.push_back(seconds.backward_weight);
    if (i < fewest_passes) update.push_back(chain.update());
  }
  return {{median(forward), median(backward_input), median(backward_weight)}, median(update), chain.bytes()};
}

}  // namespace pptrain
