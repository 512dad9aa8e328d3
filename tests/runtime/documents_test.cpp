// Where documents begin reaches the layers with the samples that they compute, under any plan, and
// attention stays within them.
#include <algorithm>
#include <cmath>
#include <map>

#include "nn/plain_operators.hpp"
#include "reference.hpp"
#include "runtime/execute/session.hpp"
#include "small_gpt2.hpp"
#include "support/catch.hpp"

using namespace pptrain;
using namespace pptrain::test;

namespace {

/// What the layers of this rank were told: for each layer a bit for each sample. Begins are made up
/// as B t + sample.
using Told = std::map<std::string, std::uint64_t>;

struct Expected {
  bool documents;  ///< whether layers are told where they begin
  std::size_t length;
  std::int64_t num_samples;
};

/// Notes which samples a layer's passes belong to. The layer itself computes without documents:
/// those made up here begin behind their positions.
class ToldLayer final : public LayerModule {
 public:
  ToldLayer(std::unique_ptr<LayerModule> real, const Expected& expected, std::uint64_t& told)
      : real_(std::move(real)), expected_(expected), told_(told) {}

  Tensor forward(Batch& batch, Tensor input, SavedPtr* saved) override {
    Batch noted = note(batch);
    return real_->forward(noted, std::move(input), saved);
  }
  Tensor backward_input(const Batch& batch, Tensor gradient, Saved& saved) override {
    return real_->backward_input(note(batch), std::move(gradient), saved);
  }
  void backward_weight(const Batch& batch, Saved& saved) override {
    real_->backward_weight(note(batch), saved);
  }

 private:
  Batch note(Batch batch) {
    REQUIRE((batch.document_begin != nullptr) == expected_.documents);
    if (!expected_.documents) return batch;
    for (std::size_t s = 0; s < batch.samples; ++s) {
      const std::int32_t* begins = batch.document_begin + s * expected_.length;
      const auto sample = static_cast<std::uint32_t>(begins[0]);
      REQUIRE(sample < expected_.num_samples);
      for (std::size_t t = 0; t < expected_.length; ++t)
        REQUIRE(begins[t] == static_cast<std::int32_t>(t) * expected_.num_samples + sample);
      if (batch.tokens != nullptr) REQUIRE(batch.tokens[s * expected_.length] == sample);
      if (batch.targets != nullptr)
        REQUIRE(batch.targets[s * expected_.length] == static_cast<int>(sample));
      told_ |= std::uint64_t{1} << sample;
    }
    batch.document_begin = nullptr;
    return batch;
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
  options.layers = [&](const Layer& layer, ChunkId chunk,
                       LayerContext& context) -> std::unique_ptr<LayerModule> {
    return std::make_unique<ToldLayer>(make_layer(layer, chunk, context), expected,
                                       told[layer.name]);
  };
  Session session(MPI_COMM_WORLD, config, model, plan, RankMap::identity(plan.num_devices()),
                  options);
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
  for (auto& [layer, bits] : told)
    MPI_Allreduce(MPI_IN_PLACE, &bits, 1, MPI_UINT64_T, MPI_BOR, MPI_COMM_WORLD);
  return told;
}

/// A recorded run whose samples are divided into documents of a length; sample s begins `shift` s
/// positions inside one.
Reference within_documents(const std::string& folder, std::int64_t length, std::int64_t shift) {
  Reference reference(folder);
  reference.config.data.attend_across_documents = false;
  reference.document_length = length;
  reference.document_shift = shift;
  return reference;
}

/// The mean loss of a step's samples at the recorded weights, by the plain version of the model's
/// layers.
double plain_loss(const Reference& reference, const Model& model) {
  PlainBatch batch;
  batch.samples = reference.config.training.global_batch_size;
  const std::int64_t length = reference.config.training.sequence_length,
                     rows = batch.samples * length;
  batch.tokens.resize(static_cast<std::size_t>(rows));
  batch.targets.resize(static_cast<std::size_t>(rows));
  batch.document_begin.resize(static_cast<std::size_t>(rows));
  for (std::int64_t s = 0; s < batch.samples; ++s) {
    SampleSlot slot;
    slot.tokens = batch.tokens.data() + s * length;
    slot.targets = batch.targets.data() + s * length;
    slot.document_begin = batch.document_begin.data() + s * length;
    reference.samples(0)(s, slot);
  }
  Parameters parameters;
  for (const auto& [name, values] : reference.weights)
    parameters[name] = Values(values.begin(), values.end());
  Values x;
  for (const Layer& layer : model.layers) x = plain_operators(layer, parameters, batch, x);
  return x.front() / static_cast<double>(rows);
}

/// Trains samples of two documents under every grid, and their halves as samples of their own on
/// one rank.
void check_halves() {
  int ranks = 0;
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  // Rotary positions that do not start anew with a document change nothing: they only matter by
  // their differences.
  for (const char* folder : {"llama", "mistral", "gpt-neox"}) {
    Reference halves(folder);
    halves.config.training.sequence_length /= 2;
    halves.config.training.global_batch_size *= 2;
    const Reference glued = within_documents(folder, halves.config.training.sequence_length, 0);
    const std::int64_t batch = glued.config.training.global_batch_size;
    const std::int64_t heads =
        build_model(glued.config.model, glued.config.training, "test").axis_size(ShardAxis::heads);
    const Curve expected =
        train_reference(MPI_COMM_SELF, halves, halves.plan(1, 1, 1, batch, "1f1b"), 20);
    CHECK(largest_difference(expected.losses, glued.losses) > 1e-3);
    for (int pipeline = 1; pipeline <= ranks; pipeline *= 2) {
      for (int data = 1; pipeline * data <= ranks; data *= 2) {
        if (ranks / pipeline / data > heads) continue;
        const Plan plan = glued.plan(pipeline, data, ranks / pipeline / data,
                                     std::max<std::int64_t>(batch / 2, data), "1f1b");
        INFO(folder << ", " << write_plan(plan));
        const Curve curve = train_reference(MPI_COMM_WORLD, glued, plan, 20);
        CHECK(largest_difference(curve.losses, expected.losses) <= glued.loss_tolerance);
      }
    }
  }
}

Plan plan_for(const Config& config, int pipeline, int data, int tensor, std::int64_t micro,
              const std::string& schedule, int chunks) {
  return uniform_plan(even_division(config.model.layers + 2, pipeline * chunks), data, tensor,
                      config.training.global_batch_size, micro,
                      ScheduleChoice{schedule, chunks, 0});
}

}  // namespace

TEST_CASE("every layer is told where the documents of its samples begin", "[np4]") {
  Config config = small_gpt2(8, 12);
  config.data.attend_across_documents = false;
  std::vector<Plan> plans = {plan_for(config, 4, 1, 1, 3, "1f1b", 1),
                             plan_for(config, 2, 1, 2, 4, "zb-h1", 1),
                             plan_for(config, 2, 2, 1, 4, "interleaved-1f1b", 2),
                             plan_for(config, 1, 4, 1, 6, "gpipe", 1)};
  for (Stage& stage : plans[2].stages) stage.samples = {{0, 1}, {1, 4}};
  for (Stage& stage : plans[2].stages) stage.recompute = Recompute::full;
  plans[3].stages[0].samples = {{0, 1}, {1, 3}, {3, 4}, {4, 6}};
  // Layers that are divided otherwise than those around them compute other samples.
  const Interval output = {config.model.layers + 1, config.model.layers + 2};
  plans[3].stages[0].blocks = {{output, 2, 2, TensorPattern::megatron, {{0, 2}, {2, 6}}, {}}};
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
  for (const auto& [layer, bits] : told_under(config, plan_for(config, 2, 2, 1, 4, "1f1b", 1)))
    CHECK(bits == 0);
}

TEST_CASE("the loss within documents is that of the plain layers", "[np1]") {
  // Learned positions and a window: neither may be counted from where a document begins.
  for (const char* folder : {"gpt2-hf", "mistral"}) {
    const Reference reference = within_documents(folder, 9, 2);
    const Model model = build_model(reference.config.model, reference.config.training, "test");
    const double expected = plain_loss(reference, model);
    const Plan plan = reference.plan(1, 1, 1, 2, "1f1b");
    const Curve curve = train_reference(MPI_COMM_WORLD, reference, plan, 1);
    INFO(folder);
    CHECK(std::abs(curve.losses.front() - expected) <= reference.loss_tolerance);
    CHECK(std::abs(reference.losses.front() - expected) > 1e-4);
  }
}

TEST_CASE("two documents of a sample train as two samples do", "[np1]") { check_halves(); }
TEST_CASE("two documents of a sample train as two samples do on two ranks", "[np2]") {
  check_halves();
}
TEST_CASE("two documents of a sample train as two samples do on four ranks", "[np4]") {
  check_halves();
}
