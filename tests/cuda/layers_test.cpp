// Whole models, forward and backward, on a GPU against the host.
#include <cmath>

#include "base/random.hpp"
#include "cuda/attention.hpp"
#include "cuda/experts.hpp"
#include "cuda/gemm.hpp"
#include "cuda/twin.hpp"
#include "nn/layer.hpp"
#include "tensor/device_copy.hpp"

using namespace pptrain;
using namespace pptrain::test;

namespace {

/// A model's layers on one device.
class Side {
 public:
  Side(const Backend& backend, const Model& model, DType type, Recompute recompute)
      : model_(model), arena_(0, "", backend.device), context_{backend, arena_, group_, store_,
                                                               model_,  type,   {},     recompute} {
    arena_.poison(true);
    for (std::size_t i = 0; i < model_.layers.size(); ++i) {
      layers_.push_back(make_layer(model_.layers[i], ChunkId(static_cast<int>(i)), context_));
    }
    store_.allocate(arena_, backend.kernels, type);
    fill_random(store_, 5);
    store_.start_step();
  }

  /// A forward and a backward pass over a micro-batch; gradients add up.
  void run(std::size_t samples, std::uint64_t seed) {
    const std::size_t rows = samples * static_cast<std::size_t>(model_.sample.rows);
    const CounterRandom random(seed, "batch");
    DeviceCopy<std::uint32_t> tokens;
    DeviceCopy<std::int32_t> targets;
    DeviceCopy<float> features;
    const auto classes = static_cast<std::size_t>(model_.sample.classes);
    for (std::size_t r = 0; r < rows; ++r) {
      tokens.host(rows)[r] =
          static_cast<std::uint32_t>(random.uniform(2 * r) * static_cast<double>(classes));
      targets.host(rows)[r] =
          static_cast<std::int32_t>(random.uniform(2 * r + 1) * static_cast<double>(classes));
    }
    const std::size_t numbers = rows * static_cast<std::size_t>(model_.sample.features);
    for (std::size_t i = 0; i < numbers; ++i) {
      features.host(numbers)[i] = static_cast<float>(random.uniform(2 * rows + i)) - 0.5F;
    }
    const Buffer loss(arena_, sizeof(double));
    arena_.device().fill(loss.data(), 0, sizeof(double));
    Batch batch;
    batch.samples = samples;
    batch.tokens = tokens.upload(arena_);
    batch.targets = targets.upload(arena_);
    batch.loss_scale = 0.1F;
    batch.loss = static_cast<double*>(loss.data());
    if (!model_.sample.tokens()) batch.features = features.upload(arena_);
    pass(batch);
    double value = 0;
    arena_.device().download(&value, loss.data(), sizeof(value));
    loss_ += value;
  }

  double loss() const { return loss_; }
  std::size_t num_parameters() const { return store_.parameters().size(); }
  const std::string& name(std::size_t parameter) const {
    return store_.parameters()[parameter].spec.name;
  }
  Values gradient(std::size_t parameter) {
    const Matrix matrix = store_.gradient_matrix(parameter);
    std::vector<float> values(matrix.size());
    arena_.device().download(values.data(), matrix.data, values.size() * sizeof(float));
    return {values.begin(), values.end()};
  }

 private:
  void pass(Batch& batch) {
    std::vector<SavedPtr> saved(layers_.size());
    Tensor x;
    for (std::size_t i = 0; i < layers_.size(); ++i)
      x = layers_[i]->forward(batch, std::move(x), &saved[i]);
    for (std::size_t i = layers_.size(); i-- > 0;) {
      x = layers_[i]->backward_input(batch, std::move(x), *saved[i]);
      layers_[i]->backward_weight(batch, *saved[i]);
    }
  }

  Model model_;
  Arena arena_;
  SilentCommunicator group_;
  ParameterStore store_;
  LayerContext context_;
  std::vector<std::unique_ptr<LayerModule>> layers_;
  double loss_ = 0;
};

/// The largest difference relative to the largest value.
double difference(const Values& actual, const Values& expected) {
  double largest = 0;
  for (const double value : expected) largest = std::max(largest, std::abs(value));
  return largest_error(actual, expected, largest);
}

void compare(const Model& model, DType type, Recompute recompute, double tolerance) {
  Gpu gpu;
  const auto gemm = make_cuda_gemm(gpu.device, gpu.kernels);
  const auto attention = make_cuda_attention(gpu.device);
  const auto experts = make_cuda_experts(gpu.device);
  const std::uint64_t seed = fresh_seed();
  Side host(host_backend(), model, type, recompute),
      device({gpu.device, *gemm, *attention, gpu.kernels, *experts}, model, type, recompute);
  for (std::uint64_t micro_batch = 0; micro_batch < 2; ++micro_batch) {
    host.run(3, seed + micro_batch);
    device.run(3, seed + micro_batch);
  }
  CAPTURE(seed, type_name(type));
  REQUIRE(device.loss() == Approx(host.loss()).epsilon(tolerance));
  for (std::size_t i = 0; i < host.num_parameters(); ++i) {
    CAPTURE(host.name(i));
    REQUIRE(difference(device.gradient(i), host.gradient(i)) < tolerance);
  }
}

Model gpt2() {
  ModelConfig config;
  config.layers = 2;
  config.hidden_size = 32;
  config.heads = 2;
  config.vocabulary_size = 67;
  TrainingConfig training;
  training.sequence_length = 9;
  return build_model(config, training, "test");
}

Model classifier() {
  ModelConfig config;
  config.name = "mlp-classifier";
  config.layers = 3;
  config.hidden_size = 24;
  config.input_size = 11;
  config.classes = 7;
  return build_model(config, TrainingConfig(), "test");
}

}  // namespace

TEST_CASE("a language model on a GPU gives the host's loss and gradients") {
  for (const Recompute recompute : {Recompute::none, Recompute::selective, Recompute::full}) {
    compare(gpt2(), DType::f32, recompute, 2e-5);
  }
  // A few roundings to 8 bits in each layer, on both sides at different places.
  compare(gpt2(), DType::bf16, Recompute::none, 3e-2);
  compare(gpt2(), DType::f16, Recompute::none, 1e-2);
}

TEST_CASE("a classifier on a GPU gives the host's loss and gradients") {
  compare(classifier(), DType::f32, Recompute::none, 2e-5);
  compare(classifier(), DType::bf16, Recompute::none, 3e-2);
}
