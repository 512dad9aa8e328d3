// Recomputation changes what is kept, not one bit of what comes out.
#include "base/random.hpp"
#include "kernels/gemm.hpp"
#include "nn/layer.hpp"
#include "support/catch.hpp"

using namespace pptrain;

namespace {

constexpr std::size_t hidden = 32;
constexpr std::size_t length = 64;
constexpr std::size_t samples = 2;

/// What a pass over one layer gives.
struct Passed {
  std::vector<float> output;
  std::vector<float> input_gradient;
  std::vector<float> gradients;
  double loss = 0.0;
  std::size_t kept_bytes = 0;  ///< between forward and backward, output left out
};

std::vector<float> values_of(const Tensor& x) {
  return x ? std::vector<float>(x.f32(), x.f32() + x.size()) : std::vector<float>();
}

Passed pass(int layer_index, Recompute recompute) {
  ModelConfig config;
  config.layers = 1;
  config.hidden_size = hidden;
  config.heads = 2;
  config.vocabulary_size = 50;
  TrainingConfig training;
  training.sequence_length = length;
  const Model model = build_model(config, training, "test");
  Arena arena;
  arena.poison(true);
  SilentCommunicator group;
  ParameterStore store;
  LayerContext context{host_backend(), arena, group, store, model, DType::f32, {}, recompute};
  const auto layer = make_layer(model.layers[layer_index], ChunkId(0), context);
  store.allocate(arena, host_kernels(), DType::f32);
  fill_random(store, 3);
  std::vector<std::uint32_t> tokens(samples * length);
  for (std::size_t i = 0; i < tokens.size(); ++i)
    tokens[i] = static_cast<std::uint32_t>(i * 7 % 50);
  const std::vector<std::int32_t> targets(tokens.begin(), tokens.end());
  double loss = 0.0;
  Batch batch{samples, tokens.data(), targets.data(), 1.0F, &loss};
  const auto rows = [&](const char* name) {
    Tensor x(arena, samples * length, hidden);
    CounterRandom(5, name).fill_normal(0, x.size(), x.f32());
    return x;
  };
  const std::size_t before = arena.bytes_in_use();
  SavedPtr saved;
  Passed result;
  {
    const Tensor output =
        layer->forward(batch, layer_index == 0 ? Tensor() : rows("input"), &saved);
    result.output = values_of(output);
  }
  result.loss = loss;
  result.kept_bytes = arena.bytes_in_use() - before;
  const Tensor gradient =
      layer->backward_input(batch, layer_index == 2 ? Tensor() : rows("gradient"), *saved);
  layer->backward_weight(batch, *saved);
  result.input_gradient = values_of(gradient);
  for (const LocalParameter& p : store.parameters()) {
    result.gradients.insert(result.gradients.end(), store.unit_gradients(0) + p.offset,
                            store.unit_gradients(0) + p.offset + p.size());
  }
  return result;
}

}  // namespace

TEST_CASE("recomputed layers give the same bits") {
  for (const int layer : {0, 1, 2}) {
    const Passed kept = pass(layer, Recompute::none);
    for (const Recompute recompute : {Recompute::selective, Recompute::full}) {
      INFO("layer " << layer << " " << to_string(recompute));
      const Passed again = pass(layer, recompute);
      CHECK(again.output == kept.output);
      CHECK(again.loss == kept.loss);
      CHECK(again.input_gradient == kept.input_gradient);
      CHECK(again.gradients == kept.gradients);
    }
  }
}

TEST_CASE(
    "full recomputation keeps a layer's input, selective all but attention's output and row sums") {
  const std::size_t rows = samples * length;
  const std::size_t input = rows * hidden * sizeof(float);
  CHECK(pass(1, Recompute::full).kept_bytes == input);
  CHECK(pass(2, Recompute::full).kept_bytes == input);
  CHECK(pass(0, Recompute::full).kept_bytes == 0);
  const std::size_t attended = rows * (hidden + 2) * sizeof(float);
  CHECK(pass(1, Recompute::none).kept_bytes - pass(1, Recompute::selective).kept_bytes == attended);
}
