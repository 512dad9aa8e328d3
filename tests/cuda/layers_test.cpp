// Whole models, forward and backward, on a GPU against the host.
#include <cmath>

#include "cuda/attention.hpp"
#include "cuda/experts.hpp"
#include "cuda/gemm.hpp"
#include "cuda/side.hpp"
#include "cuda/twin.hpp"

using namespace pptrain;
using namespace pptrain::test;

namespace {

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
