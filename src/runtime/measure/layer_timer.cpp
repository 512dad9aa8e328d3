#include "runtime/measure/layer_timer.hpp"

#include <algorithm>
#include <memory>
#include <vector>

#include "base/random.hpp"
#include "base/timing.hpp"
#include "model/folds/kept_values.hpp"
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
/// An idle GPU takes a while to raise its clocks. The host's passes are warm after one.
constexpr double gpu_warm_up_seconds = 0.05;

/// What of a layer is timed.
struct TimedShape {
  int tensor_parallel = 1;
  std::int64_t samples = 1;
  Recompute recompute = Recompute::none;
};

/// A chain of copies of one layer with random inputs.
class Chain {
 public:
  Chain(const Config& config, const Model& model, const Layer& layer, const TimedShape& shape,
        const Backend& backend)
      : arena_(0, {}, backend.device),
        group_(shape.tensor_parallel),
        context_{backend, arena_,         group_,
                 store_,  model,          activation_type(config.training.precision),
                 {},      shape.recompute},
        samples_(static_cast<std::size_t>(shape.samples)),
        input_(layer.input) {
    const auto alike =
        std::count_if(model.layers.begin(), model.layers.end(),
                      [&](const Layer& other) { return other.signature == layer.signature; });
    const bool chains = layer.input && layer.input == layer.output;
    const int copies =
        chains ? static_cast<int>(std::min<std::int64_t>(copies_of_blocks, alike)) : 1;
    output_ = layer.output;
    for (int i = 0; i < copies; ++i) {
      Layer copy = layer;
      for (ParameterSpec& spec : copy.parameters) spec.name += "." + std::to_string(i);
      layers_.push_back(make_layer(copy, ChunkId(0), context_));
    }
    store_.allocate(arena_, context_.backend.kernels, context_.type);
    fill_random(store_, 1);
    optimizer_ = make_optimizer(config.optimizer, parameter_runs(store_), arena_, context_.backend,
                                StatePlace::device, {update_groups()});
    draw_samples(model);
    arena_.device().fill(sums_.data(), 0, sums_.bytes());
    resident_bytes_ = arena_.bytes_in_use();
  }

  LayerSeconds pass() {
    Batch batch;
    batch.samples = samples_;
    batch.tokens = tokens_on_device_;
    batch.token_types = types_on_device_;
    batch.decoder_tokens = tokens_on_device_;
    batch.targets = targets_on_device_;
    batch.features = features_on_device_;
    batch.drawings = drawings_on_device_;
    batch.loss_scale = 1e-3F;
    batch.loss = loss();
    batch.dropout = DropoutNumbers{};
    std::vector<SavedPtr> saved(layers_.size());
    arena_.reset_peak();
    Tensor x = input_ ? random_rows(*input_) : Tensor();
    std::vector<BackwardMoments> backward(layers_.size());
    const DeviceMomentPtr start = moment();
    for (std::size_t l = 0; l < layers_.size(); ++l)
      x = layers_[l]->forward(batch, std::move(x), &saved[l]);
    const DeviceMomentPtr end = moment();
    stored_bytes_ = arena_.bytes_in_use() - resident_bytes_ - x.bytes();
    forward_peak_ = arena_.peak_bytes();
    if (!input_ && output_) x = random_rows(*output_);  // as the gradient
    for (std::size_t l = layers_.size(); l-- > 0;) {
      backward[l].start = moment();
      x = layers_[l]->backward_input(batch, std::move(x), *saved[l]);
      backward[l].middle = moment();
      if (l + 1 == layers_.size()) deferred_bytes_ = deferred_by_last(x);
      layers_[l]->backward_weight(batch, *saved[l]);
      saved[l].reset();
      backward[l].end = moment();
    }
    return seconds_of(end->seconds_since(*start), backward);
  }

  double update() {
    const DeviceMomentPtr start = moment();
    arena_.device().fill(squares(), 0, sizeof(double));
    std::vector<ValueRun> runs;
    for (const OwnPart& part : store_.own_parts()) runs.push_back({part.gradients, part.size});
    context_.backend.kernels.sums_of_squares(runs.data(), runs.size(), squares());
    double sum = 0.0;
    arena_.device().download(&sum, squares(), sizeof(sum));
    optimizer_->step({0, 1e-9, clip_factor(sum, 1.0)});
    return seconds_since(*start) / static_cast<double>(layers_.size());
  }

  DeviceMomentPtr moment() const { return arena_.device().moment(); }
  /// Seconds by the clock of the device since `start`; waits for all that the device has been told.
  double seconds_since(DeviceMoment& start) const { return moment()->seconds_since(start); }

  /// Bytes of one layer. The most is in use in the passes of the last one, when all others hold
  /// what they store.
  LayerBytes bytes() const {
    const auto stored = static_cast<double>(stored_bytes_);
    const auto beyond = [&](std::size_t peak) {
      return std::max(0.0,
                      static_cast<double>(peak) - static_cast<double>(resident_bytes_) - stored);
    };
    return {stored / static_cast<double>(layers_.size()), static_cast<double>(deferred_bytes_),
            beyond(arena_.peak_bytes()), beyond(forward_peak_)};
  }

  double peak_bytes() const { return static_cast<double>(arena_.peak_bytes()); }

 private:
  /// Around the passes of a layer.
  struct BackwardMoments {
    DeviceMomentPtr start;
    DeviceMomentPtr middle;  ///< between backward_input and backward_weight
    DeviceMomentPtr end;
  };

  /// Seconds of one layer. They are asked for when all has been called: so the host runs ahead of a
  /// GPU as in training.
  LayerSeconds seconds_of(double forward, const std::vector<BackwardMoments>& backward) const {
    LayerSeconds sum = {forward, 0.0, 0.0};
    for (const BackwardMoments& moments : backward) {
      sum.backward_input += moments.middle->seconds_since(*moments.start);
      sum.backward_weight += moments.end->seconds_since(*moments.middle);
    }
    const double share = 1.0 / static_cast<double>(layers_.size());
    return {sum.forward * share, sum.backward_input * share, sum.backward_weight * share};
  }

  void draw_samples(const Model& model) {
    const std::size_t rows = samples_ * static_cast<std::size_t>(model.sample.rows);
    const std::size_t inputs = samples_ * static_cast<std::size_t>(model.sample.features);
    const std::size_t pixels = samples_ * static_cast<std::size_t>(model.sample.drawing.pixels());
    const auto classes =
        static_cast<std::uint64_t>(std::max<std::int64_t>(model.sample.classes, 1));
    const CounterRandom random(2, "profile");
    std::int32_t* targets = targets_.host(rows);
    // Tokens of a source and tokens of a decoder are as good as each other.
    const std::size_t num_tokens =
        std::max(rows, samples_ * static_cast<std::size_t>(model.sample.input_tokens()));
    std::uint32_t* tokens = tokens_.host(num_tokens);
    for (std::size_t i = 0; i < num_tokens; ++i) {
      tokens[i] = static_cast<std::uint32_t>(random.bits(i) % classes);
      if (i < rows) targets[i] = static_cast<std::int32_t>(tokens[i]);
    }
    std::uint32_t* types = types_.host(model.sample.token_types > 0 ? rows : 0);
    for (std::size_t i = 0; model.sample.token_types > 0 && i < rows; ++i) {
      types[i] = static_cast<std::uint32_t>(random.bits(i) %
                                            static_cast<std::uint64_t>(model.sample.token_types));
    }
    random.fill_normal(0, inputs, features_.host(inputs));
    random.fill_normal(0, pixels, drawings_.host(pixels));
    targets_on_device_ = targets_.upload(arena_);
    tokens_on_device_ = tokens_.upload(arena_);
    types_on_device_ = types_.upload(arena_);
    features_on_device_ = features_.upload(arena_);
    drawings_on_device_ = drawings_.upload(arena_);
  }

  /// Other members only exist on paper.
  UpdateGroups update_groups() {
    UpdateGroups groups;
    groups.store = &store_;
    groups.members = &group_;
    groups.parts = [this](ShardAxis axis) { return context_.parts(axis); };
    groups.distinct = [](const LocalParameter& parameter) {
      return Interval{0, static_cast<std::int64_t>(parameter.size())};
    };
    return groups;
  }

  double* loss() const { return static_cast<double*>(sums_.data()); }
  double* squares() const { return loss() + 1; }

  /// What the last layer holds after its B, while the others hold what they store.
  std::size_t deferred_by_last(const Tensor& input_gradient) const {
    const std::size_t others = stored_bytes_ / layers_.size() * (layers_.size() - 1);
    return arena_.bytes_in_use() - resident_bytes_ - others - input_gradient.bytes();
  }

  Tensor random_rows(const Boundary& boundary) {
    const Port port = boundary.packed();
    Tensor x(arena_, samples_ * static_cast<std::size_t>(port.rows),
             static_cast<std::size_t>(port.columns));
    if (random_rows_.size() != x.size()) {
      random_rows_.resize(x.size());
      CounterRandom(3, "profile").fill_normal(0, x.size(), random_rows_.data());
    }
    arena_.device().upload(x.f32(), random_rows_.data(), x.bytes());
    return x;
  }

  Arena arena_;
  Buffer sums_{arena_, 2 * sizeof(double)};  // loss, squares
  SilentCommunicator group_;
  ParameterStore store_;
  LayerContext context_;
  std::size_t samples_;
  std::optional<Boundary> input_;
  std::optional<Boundary> output_;
  std::vector<std::unique_ptr<LayerModule>> layers_;
  std::unique_ptr<Optimizer> optimizer_;
  DeviceCopy<std::uint32_t> tokens_, types_;
  DeviceCopy<std::int32_t> targets_;
  DeviceCopy<float> features_, drawings_;
  const std::uint32_t *tokens_on_device_ = nullptr, *types_on_device_ = nullptr;
  const std::int32_t* targets_on_device_ = nullptr;
  const float *features_on_device_ = nullptr, *drawings_on_device_ = nullptr;
  std::vector<float> random_rows_;
  std::size_t resident_bytes_ = 0;
  std::size_t stored_bytes_ = 0;    // by all layers
  std::size_t deferred_bytes_ = 0;  // by one
  std::size_t forward_peak_ = 0;    // of the arena
};

/// Passes that are not counted: the first one allocates.
void warm_up(Chain& chain, double seconds) {
  const DeviceMomentPtr start = chain.moment();
  do {
    chain.pass();
  } while (chain.seconds_since(*start) < seconds);
}

LayerTiming time_passes(Chain& chain, const Backend& backend) {
  warm_up(chain, backend.device.is_host() ? 0.0 : gpu_warm_up_seconds);
  std::vector<double> forward;
  std::vector<double> backward_input;
  std::vector<double> backward_weight;
  std::vector<double> update;
  const DeviceMomentPtr start = chain.moment();
  for (int i = 0;
       i < fewest_passes || (i < most_passes && chain.seconds_since(*start) < enough_seconds);
       ++i) {
    const LayerSeconds seconds = chain.pass();
    forward.push_back(seconds.forward);
    backward_input.push_back(seconds.backward_input);
    backward_weight.push_back(seconds.backward_weight);
    if (i < fewest_passes) update.push_back(chain.update());
  }
  return {{median(forward), median(backward_input), median(backward_weight)},
          median(update),
          chain.bytes(),
          0.0,
          chain.peak_bytes()};
}

/// Seconds of B of the inputs, with less care than those of a plan that recomputes nothing: one
/// pass, or few that are short.
double backward_input_seconds(Chain& chain) {
  const DeviceMomentPtr start = chain.moment();
  std::vector<double> seconds;
  do {
    seconds.push_back(chain.pass().backward_input);
  } while (std::ssize(seconds) < fewest_passes && chain.seconds_since(*start) < enough_seconds);
  return median(seconds);
}

bool recomputes_selectively(const Layer& layer) {
  return kept_values(layer.operators, Recompute::none) !=
         kept_values(layer.operators, Recompute::selective);
}

}  // namespace

LayerTiming time_layer(const Config& config, const Model& model, const Layer& layer,
                       int tensor_parallel, std::int64_t samples, const Backend& backend) {
  const auto chain_of = [&](Recompute recompute) {
    return std::make_unique<Chain>(config, model, layer,
                                   TimedShape{tensor_parallel, samples, recompute}, backend);
  };
  auto chain = chain_of(Recompute::none);
  LayerTiming timing = time_passes(*chain, backend);
  chain.reset();
  if (!recomputes_selectively(layer)) return timing;
  chain = chain_of(Recompute::selective);
  chain->pass();
  timing.bytes.recomputed = timing.bytes.stored - chain->bytes().stored;
  const double more = backward_input_seconds(*chain) - timing.seconds.backward_input;
  timing.selective_part = std::clamp(more / timing.seconds.forward, 0.0, 1.0);
  return timing;
}

}  // namespace pptrain
