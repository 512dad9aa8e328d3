// Forward values and gradients of every layer against finite differences of a plain double version.
#include <cmath>
#include <functional>

#include "base/random.hpp"
#include "derivatives.hpp"
#include "kernels/backend.hpp"
#include "nn/layer.hpp"
#include "plain_layers.hpp"
#include "support/catch.hpp"

using namespace pptrain;
using namespace pptrain::test;

namespace {

Values random_values(const std::string& name, std::size_t n, double scale, double shift = 0.0) {
  std::vector<float> values(n);
  CounterRandom(11, name).fill_normal(0, n, values.data());
  Values result(n);
  // Rounded to fp32, so that both sides start from the same numbers.
  for (std::size_t i = 0; i < n; ++i) result[i] = static_cast<float>(values[i] * scale + shift);
  return result;
}

/// One layer with random parameters, on one device and in the plain form.
struct Bench {
  ModelConfig config;
  TrainingConfig training;
  Model model;
  Arena arena;
  SilentCommunicator group;
  ParameterStore store;
  LayerContext context{host_backend(), arena, group, store, model, DType::f32, {}};
  std::unique_ptr<LayerModule> layer;
  Parameters parameters;
  PlainBatch plain;
  Batch batch;
  double batch_loss = 0.0;

  explicit Bench(int layer_index, bool tied = false) {
    arena.poison(true);
    config.layers = 1;
    config.hidden_size = 12;
    config.heads = 3;
    config.vocabulary_size = 19;
    config.tied = tied;
    training.sequence_length = 5;
    model = build_model(config, training, "test");
    layer = make_layer(model.layers[layer_index], ChunkId(0), context);
    store.allocate(arena, host_kernels(), DType::f32);
    store.fill([&](const ParameterSpec& spec, Interval run, float* out) {
      const bool is_gain = spec.name.find("ln_") != std::string::npos &&
                           spec.name.find(".weight") != std::string::npos;
      const Values values =
          random_values(spec.name, static_cast<std::size_t>(run.size()), 0.3, is_gain ? 1.0 : 0.0);
      std::copy(values.begin(), values.end(), out);
      parameters[spec.name] = values;
    });
    plain.samples = 2;
    for (int i = 0; i < 10; ++i) {
      plain.tokens.push_back(static_cast<std::uint32_t>(i * 7 % 19));
      plain.targets.push_back(i * 5 % 19);
    }
    batch.samples = 2;
    batch.tokens = plain.tokens.data();
    batch.targets = plain.targets.data();
    batch.loss_scale = 1.0F;
    batch.loss = &batch_loss;
  }

  std::size_t rows() const { return plain.tokens.size(); }
  Tensor tensor(const Values& values) {
    Tensor t(arena, rows(), 12);
    std::copy(values.begin(), values.end(), t.f32());
    return t;
  }
};

constexpr double tolerance = 1e-5;

double weighted(const Values& x, const Values& weights) {
  double sum = 0.0;
  for (std::size_t i = 0; i < x.size(); ++i) sum += x[i] * weights[i];
  return sum;
}

void check_parameter_gradients(Bench& bench, const std::function<double()>& loss) {
  for (std::size_t i = 0; i < bench.store.parameters().size(); ++i) {
    const std::string& name = bench.store.parameters()[i].spec.name;
    INFO(name);
    CHECK(error(bench.store.gradient_matrix(i).f32(), derivative(bench.parameters.at(name), loss)) <
          tolerance);
  }
}

}  // namespace

TEST_CASE("gradients of a transformer block") {
  Bench bench(1);
  Values x = random_values("x", bench.rows() * 12, 1.0);
  const Values weights = random_values("weights", x.size(), 1.0);
  const auto loss = [&] {
    return weighted(plain_block(bench.model, bench.parameters, "h.0.", bench.plain, x), weights);
  };

  SavedPtr saved;
  const Tensor y = bench.layer->forward(bench.batch, bench.tensor(x), &saved);
  CHECK(error(y.f32(), plain_block(bench.model, bench.parameters, "h.0.", bench.plain, x)) <
        tolerance);
  const Tensor dx = bench.layer->backward_input(bench.batch, bench.tensor(weights), *saved);
  bench.layer->backward_weight(bench.batch, *saved);
  CHECK(error(dx.f32(), derivative(x, loss)) < tolerance);
  check_parameter_gradients(bench, loss);
}

TEST_CASE("gradients of the embedding") {
  Bench bench(0);
  const Values weights = random_values("weights", bench.rows() * 12, 1.0);
  const auto loss = [&] {
    return weighted(plain_embedding(bench.model, bench.parameters, bench.plain), weights);
  };
  SavedPtr saved;
  const Tensor y = bench.layer->forward(bench.batch, {}, &saved);
  CHECK(error(y.f32(), plain_embedding(bench.model, bench.parameters, bench.plain)) < tolerance);
  bench.layer->backward_input(bench.batch, bench.tensor(weights), *saved);
  bench.layer->backward_weight(bench.batch, *saved);
  check_parameter_gradients(bench, loss);
}

TEST_CASE("gradients of the output layer and its loss") {
  for (const bool tied : {false, true}) {
    Bench bench(2, tied);
    Values x = random_values("x", bench.rows() * 12, 1.0);
    const auto loss = [&] { return plain_output(bench.model, bench.parameters, bench.plain, x); };
    SavedPtr saved;
    bench.layer->forward(bench.batch, bench.tensor(x), &saved);
    CHECK(bench.batch_loss == Approx(loss()).epsilon(tolerance));
    const Tensor dx = bench.layer->backward_input(bench.batch, {}, *saved);
    bench.layer->backward_weight(bench.batch, *saved);
    CHECK(error(dx.f32(), derivative(x, loss)) < tolerance);
    check_parameter_gradients(bench, loss);
  }
}

TEST_CASE("gradients add up over micro-batches and start anew with a step") {
  Bench bench(1);
  const Values x = random_values("x", bench.rows() * 12, 1.0);
  const auto pass = [&] {
    SavedPtr saved;
    bench.layer->forward(bench.batch, bench.tensor(x), &saved);
    bench.layer->backward_input(bench.batch, bench.tensor(x), *saved);
    bench.layer->backward_weight(bench.batch, *saved);
  };
  pass();
  Values twice;
  for (const LocalParameter& p : bench.store.parameters()) {
    for (std::size_t i = 0; i < p.size(); ++i)
      twice.push_back(2.0 * bench.store.unit_gradients(p.unit)[p.offset + i]);
  }
  const auto gradients = [&] {
    std::vector<float> all;
    for (const LocalParameter& p : bench.store.parameters()) {
      const float* values = bench.store.unit_gradients(p.unit) + p.offset;
      all.insert(all.end(), values, values + p.size());
    }
    return all;
  };
  const std::vector<float> once = gradients();
  pass();
  CHECK(error(gradients().data(), twice) < tolerance);
  bench.store.start_step();
  pass();
  CHECK(gradients() == once);
}
