// Logits of models that continue no text, against those of transformers.
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <regex>

#include "nn/layer.hpp"
#include "reference.hpp"
#include "runtime/execute/model_weights.hpp"
#include "runtime/job/datasets.hpp"
#include "support/catch.hpp"
#include "support/files.hpp"
#include "weights/weight_writer.hpp"

using namespace pptrain;
using namespace pptrain::test;

namespace {

/// Ends a model with the logits that its loss is made from.
Model without_loss(Model model) {
  OperatorList& list = model.layers.back().operators;
  REQUIRE(list.operators.back().as<op::Loss>() != nullptr);
  list.output = list.operators.back().inputs.front();
  list.operators.pop_back();
  return model;
}

/// Logits of the first samples of a step, row after row, by the weights of a folder.
std::vector<float> logits_of(const std::string& folder, const Model& whole, const Dataset& data,
                             std::int64_t samples = 1, BatchUse use = BatchUse::evaluation) {
  const Model model = without_loss(whole);
  Arena arena;
  SilentCommunicator group;
  ParameterStore store;
  LayerContext context{host_backend(), arena, group, store, model, DType::f32, {}};
  std::vector<std::unique_ptr<LayerModule>> layers;
  for (const Layer& layer : model.layers) layers.push_back(make_layer(layer, ChunkId(0), context));
  store.allocate(arena, host_kernels(), DType::f32);
  const ModelWeights weights(folder, whole);
  store.fill(
      [&](const ParameterSpec& spec, Interval run, float* out) { weights.read(spec, run, out); });
  const auto count = [&](std::int64_t each) { return static_cast<std::size_t>(samples * each); };
  std::vector<std::uint32_t> tokens(count(model.sample.input_tokens())), types(tokens);
  std::vector<std::uint32_t> decoder_tokens(count(model.sample.rows));
  std::vector<std::int32_t> input_lengths(count(1));
  std::vector<float> features(count(model.sample.features));
  for (std::int64_t i = 0; i < samples; ++i) {
    SampleSlot slot;
    const std::int64_t first = i * model.sample.input_tokens();
    if (model.sample.tokens())
      slot.tokens = tokens.data() + first, slot.token_types = types.data() + first;
    if (!model.sample.tokens()) slot.features = features.data() + i * model.sample.features;
    if (model.sample.has_source()) {
      slot.decoder_tokens = decoder_tokens.data() + i * model.sample.rows;
      slot.input_length = &input_lengths[static_cast<std::size_t>(i)];
    }
    data.sample(0, i, slot);
  }
  Batch batch;
  batch.samples = static_cast<std::size_t>(samples);
  batch.use = use;
  batch.tokens = tokens.data();
  batch.token_types = types.data();
  batch.features = features.data();
  if (model.sample.has_source())
    batch.decoder_tokens = decoder_tokens.data(), batch.input_lengths = input_lengths.data();
  Tensor x;
  for (const auto& layer : layers) x = layer->forward(batch, std::move(x), nullptr);
  return {x.f32(), x.f32() + x.size()};
}

}  // namespace

TEST_CASE("logits of published encoders are those of transformers", "[np1]") {
  for (const std::string& name : published_encoders) {
    INFO(name);
    const Reference reference(name);
    const std::string folder = test_data("models/") + name;
    const Model model = build_model(reference.config.model, reference.config.training, folder);
    const std::vector<float> values = logits_of(folder, model, *reference.labelled);
    REQUIRE(values.size() == static_cast<std::size_t>(model.sample.rows * model.sample.classes));
    check_first_logits(name, values);
  }
}

TEST_CASE("logits of published convolutional networks are those of PyTorch", "[np1]") {
  for (const std::string& name : published_convolutions) {
    INFO(name);
    const Reference reference(name);
    const std::string folder = test_data("models/") + name;
    const Model model = build_model(reference.config.model, reference.config.training, folder);
    // Batch norms take the statistics of the whole first batch.
    const std::vector<float> values =
        logits_of(folder, model, *reference.labelled, reference.config.training.global_batch_size,
                  BatchUse::training);
    check_first_logits(name, {values.begin(), values.begin() + model.sample.classes});
  }
}

TEST_CASE("norms of older files, with gamma and beta, are read as weight and bias", "[np1]") {
  const Reference reference("bert");
  const std::string folder = test_data("models/bert");
  const Model model = build_model(reference.config.model, reference.config.training, folder);
  const ModelWeights published(folder, model);
  const auto values_of = [](const ModelWeights& weights, const ParameterSpec& spec) {
    std::vector<float> values(static_cast<std::size_t>(spec.size()));
    weights.read(spec, {0, spec.size()}, values.data());
    return values;
  };
  const auto older = [](std::string name) {
    name = std::regex_replace(name, std::regex(R"(LayerNorm\.weight$)"), "LayerNorm.gamma");
    return std::regex_replace(name, std::regex(R"(LayerNorm\.bias$)"), "LayerNorm.beta");
  };
  char name[] = "/tmp/pptrain-gamma-XXXXXX";
  REQUIRE(mkdtemp(name) != nullptr);
  std::vector<WeightTensor> tensors;
  for (const ParameterSpec& spec : logical_parameters(model))
    tensors.push_back({older(spec.name), WeightType::f32, spec.shape});
  WeightWriter writer(name, tensors);
  for (const ParameterSpec& spec : logical_parameters(model))
    writer.write(older(spec.name), 0, values_of(published, spec));
  writer.commit();
  const ModelWeights again(name, model);
  for (const ParameterSpec& spec : logical_parameters(model))
    CHECK(values_of(again, spec) == values_of(published, spec));
  std::filesystem::remove_all(name);
}

// models/exported.py starts it and compares with the logits of transformers.
TEST_CASE("logits of an encoder's folder for another program to compare",
          "[.][encoder_logits_for_peer]") {
  const auto variable = [](const char* name) {
    const char* value = std::getenv(name);
    if (value == nullptr)
      throw std::runtime_error(std::string(name) + " is not set: start this by exported.py");
    return std::string(value);
  };
  Config config;
  config.model.from = variable("PPTRAIN_PEER_MODEL");
  config.data.train = {variable("PPTRAIN_PEER_DATA")};
  config.data.shuffle = false;
  config.training.sequence_length = std::stoll(variable("PPTRAIN_PEER_LENGTH"));
  if (const std::int64_t source = std::stoll(variable("PPTRAIN_PEER_SOURCE_LENGTH")); source > 0)
    config.training.source_length = source;
  config.model.image_size = std::stoll(variable("PPTRAIN_PEER_IMAGE"));
  const Model model = build_model(config.model, config.training, config.model.from);
  const std::vector<float> logits =
      logits_of(config.model.from, model, *open_datasets(config, model).train);
  std::ofstream out(variable("PPTRAIN_PEER_LOGITS"), std::ios::binary);
  out.write(reinterpret_cast<const char*>(logits.data()),
            static_cast<std::streamsize>(logits.size() * sizeof(float)));
  REQUIRE(out.flush());
}
