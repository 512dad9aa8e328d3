// Where documents begin reaches the layers with the samples that they compute, under any plan.
#include <algorithm>
#include <map>

#include "noisy_text.hpp"
#include "reference.hpp"
#include "runtime/datasets.hpp"
#include "runtime/execute/session.hpp"
#include "small_gpt2.hpp"
#include "support/catch.hpp"
#include "support/complaint.hpp"

using namespace pptrain;
using namespace pptrain::test;

namespace {

/// What the layers of this rank were told: for each layer a bit for each sample. Begins are made up as B t + sample.
using Told = std::map<std::string, std::uint64_t>;

struct Expected {
  bool documents;  ///< whether layers are told where they begin
  std::size_t length;
  std::int64_t num_samples;
};

/// Notes which samples a layer's passes belong to.
class ToldLayer final : public LayerModule {
 public:
  ToldLayer(std::unique_ptr<LayerModule> real, const Expected& expected, std::uint64_t& told)
      : real_(std::move(real)), expected_(expected), told_(told) {}

  Tensor forward(Batch& batch, Tensor input, SavedPtr* saved) override {
    note(batch);
    return real_->forward(batch, std::move(input), saved);
  }
  Tensor backward_input(const Batch& batch, Tensor gradient, Saved& saved) override {
    note(batch);
    return real_->backward_input(batch, std::move(gradient), saved);
  }
  void backward_weight(const Batch& batch, Saved& saved) override {
    note(batch);
    real_->backward_weight(batch, saved);
  }

 private:
  void note(const Batch& batch) {
    REQUIRE((batch.document_begin != nullptr) == expected_.documents);
    if (!expected_.documents) return;
    for (std::size_t s = 0; s < batch.samples; ++s) {
      const std::int32_t* begins = batch.document_begin + s * expected_.length;
      const auto sample = static_cast<std::uint32_t>(begins[0]);
      REQUIRE(sample < expected_.num_samples);
      for (std::size_t t = 0; t < expected_.length; ++t)
        REQUIRE(begins[t] == static_cast<std::int32_t>(t) * expected_.num_samples + sample);
      if (batch.tokens != nullptr) REQUIRE(batch.tokens[s * expected_.length] == sample);
      if (batch.targets != nullptr) REQUIRE(batch.targets[s * expected_.length] == static_cast<int>(sample));
      told_ |= std::uint64_t{1} << sample;
    }
  }

  std::unique_ptr<LayerModule> real_;
  Expected expected_;
  std::uint64_t& told_;
};

/// What all layers were told in a step and an evaluation, over all ranks.
Told told_under(const Config& config, const Plan& plan) {
  INFO(write_plan(plan));
  const Model model = build_model(config.model, config.training, "test");
  const Expected expected = {!config.data.attend_across_documents,
                             static_cast<std::size_t>(config.training.sequence_length),
                             config.training.global_batch_size};
  Told told;
  for (const Layer& layer : model.layers) told[layer.name] = 0;
  SessionOptions options;
  options.layers = [&](const Layer& layer, ChunkId chunk, LayerContext& context) -> std::unique_ptr<LayerModule> {
    return std::make_unique<ToldLayer>(make_layer(layer, chunk, context), expected, told[layer.name]);
  };
  Session session(MPI_COMM_WORLD, config, model, plan, RankMap::identity(plan.num_devices()), CoreUse::shared, options);
  const SampleSource samples = [&](std::int64_t sample, const SampleSlot& slot) {
    CHECK((expected.documents || slot.document_begin == nullptr));
    for (std::size_t t = 0; t < expected.length; ++t) {
      if (slot.tokens != nullptr) slot.tokens[t] = static_cast<std::uint32_t>(sample);
      if (slot.targets != nullptr) slot.targets[t] = static_cast<std::int32_t>(sample);
      if (slot.document_begin != nullptr)
        slot.document_begin[t] =
            static_cast<std::int32_t>(static_cast<std::int64_t>(t) * expected.num_samples + sample);
    }
  };
  session.train(0, samples);
  session.evaluate(samples);
  for (auto& [layer, bits] : told) MPI_Allreduce(MPI_IN_PLACE, &bits, 1, MPI_UINT64_T, MPI_BOR, MPI_COMM_WORLD);
  return told;
}

Plan plan_for(const Config& config, int pipeline, int data, int tensor, std::int64_t micro, const std::string& schedule,
              int chunks) {
  return uniform_plan(even_division(config.model.layers + 2, pipeline * chunks), data, tensor,
                      config.training.global_batch_size, micro, ScheduleChoice{schedule, chunks, 0});
}

}  // namespace

TEST_CASE("every layer is told where the documents of its samples begin", "[np4]") {
  Config config = small_gpt2(8, 12);
  config.data.attend_across_documents = false;
  std::vector<Plan> plans = {plan_for(config, 4, 1, 1, 3, "1f1b", 1), plan_for(config, 2, 1, 2, 4, "zb-h1", 1),
                             plan_for(config, 2, 2, 1, 4, "interleaved-1f1b", 2),
                             plan_for(config, 1, 4, 1, 6, "gpipe", 1)};
  for (Stage& stage : plans[2].stages) stage.samples = {{0, 1}, {1, 4}};
  for (Stage& stage : plans[2].stages) stage.recompute = Recompute::full;
  plans[3].stages[0].samples = {{0, 1}, {1, 3}, {3, 4}, {4, 6}};
  // Layers that are divided otherwise than those around them compute other samples.
  const Interval output = {config.model.layers + 1, config.model.layers + 2};
  plans[3].stages[0].blocks = {{output, 2, 2, "megatron", {{0, 2}, {2, 6}}, {}}};
  for (const Plan& plan : plans) {
    const Told told = told_under(config, plan);
    CHECK(told.size() == static_cast<std::size_t>(config.model.layers) + 2);
    for (const auto& [layer, bits] : told) {
      CAPTURE(layer);
      CHECK(bits == (std::uint64_t{1} << 12) - 1);
    }
  }
}

TEST_CASE("layers are told nothing where attention reaches across documents", "[np4]") {
  const Config config = small_gpt2(8, 12);
  for (const auto& [layer, bits] : told_under(config, plan_for(config, 2, 2, 1, 4, "1f1b", 1))) CHECK(bits == 0);
}

TEST_CASE("attention within documents is refused as long as it is not computed", "[data]") {
  Config config;
  config.source = "c.toml";
  CHECK_NOTHROW(check_attention(config));
  config.data.attend_across_documents = false;
  config.places["data.attend_across_documents"] = "c.toml:4";
  CHECK(complaint_of([&] {
          check_attention(config);
        }).starts_with("c.toml:4: attend_across_documents = false cannot be trained"));
}
