// Gradients of replicas on several nodes are summed within the nodes first, in buckets that begin
// as soon as they are full.
#include "runtime/execute/gradient_sums.hpp"

#include <cmath>
#include <numeric>

#include "comm/mpi.hpp"
#include "runtime/emulation/emulated_communicator.hpp"
#include "runtime/reference.hpp"
#include "support/catch.hpp"
#include "support/sent_messages.hpp"

using namespace pptrain;
using namespace pptrain::test;

namespace {

/// Bytes that all ranks sent to ranks of other nodes in two steps.
double bytes_between_nodes(const Reference& reference, const Plan& plan,
                           const std::vector<int>& nodes, bool first) {
  SessionOptions options;
  if (first) options.nodes = nodes;
  std::vector<double> sent(nodes.size(), 0.0);  // of floats and bf16, by rank
  observe_sent([&sent](int count, MPI_Datatype type, int to) {
    if (type != MPI_FLOAT && type != MPI_UINT16_T) return;
    sent[static_cast<std::size_t>(to)] += (type == MPI_FLOAT ? 4.0 : 2.0) * count;
  });
  train_reference(MPI_COMM_WORLD, reference, plan, 2, options);
  observe_sent({});
  const int own = nodes[static_cast<std::size_t>(rank_in(MPI_COMM_WORLD))];
  double bytes = 0.0;
  for (std::size_t r = 0; r < nodes.size(); ++r) bytes += nodes[r] == own ? 0.0 : sent[r];
  double all = 0.0;
  MPI_Allreduce(&bytes, &all, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  return all;
}

void check_nodes(const std::string& run, const Plan& plan, const std::vector<int>& nodes) {
  INFO(run << " " << plan.shape() << " " << plan.schedule.name);
  const Reference reference(run);
  SessionOptions options;
  options.nodes = nodes;
  const auto steps = static_cast<int>(reference.config.training.steps);
  const Curve curve = train_reference(MPI_COMM_WORLD, reference, plan, steps, options);
  CHECK(largest_difference(curve.losses, reference.losses) <= 5e-6);
  CHECK(curve.grad_norms.front() == Approx(reference.grad_norms.front()).epsilon(1e-5));
  const Curve again = train_reference(MPI_COMM_WORLD, reference, plan, 4, options);
  CHECK(std::equal(again.losses.begin(), again.losses.end(), curve.losses.begin()));
  CHECK(std::equal(again.grad_norms.begin(), again.grad_norms.end(), curve.grad_norms.begin()));
}

}  // namespace

TEST_CASE("replicas of two nodes meet the reference runs", "[np4]") {
  for (const std::vector<int>& nodes : std::vector<std::vector<int>>{
           {0, 0, 1, 1}, {0, 0, 0, 1}, {0, 1, 1, 1}, {0, 1, 0, 1}, {0, 1, 1, 2}}) {
    for (const char* run : {"untied", "tied"}) {
      const Reference reference(run);
      check_nodes(run, reference.plan(1, 4, 1, 4, "1f1b"), nodes);
      check_nodes(run, reference.plan(1, 4, 1, 4, "zeropp", 3), nodes);
    }
  }
}

TEST_CASE("replicas of several nodes meet the reference runs in grids", "[np8]") {
  const Reference reference("tied");
  const std::vector<int> pairs = {0, 0, 1, 1, 2, 2, 3, 3};
  const std::vector<int> uneven = {0, 0, 0, 1, 1, 1, 1, 2};
  check_nodes("tied", reference.plan(2, 4, 1, 4, "1f1b"), pairs);
  check_nodes("tied", reference.plan(2, 4, 1, 4, "zb-h1"), uneven);
  check_nodes("tied", reference.plan(1, 4, 2, 4, "1f1b"), uneven);  // shards lie on nodes
                                                                    // differently
  check_nodes("untied", reference.plan(1, 8, 1, 8, "1f1b"), {0, 0, 1, 1, 1, 2, 2, 2});
}

TEST_CASE("two levels send each slice over an uplink once", "[np4]") {
  const Reference reference("untied");
  const Plan plan = reference.plan(1, 4, 1, 4, "1f1b");
  // Everyone sends a quarter of M bytes to everyone, twice: 2 x 2 pairs between the nodes, in both
  // directions, or 3 x 1. In two levels every node sends half of each slice, twice.
  const double pairs = bytes_between_nodes(reference, plan, {0, 0, 1, 1}, true);
  CHECK(pairs ==
        Approx(0.5 * bytes_between_nodes(reference, plan, {0, 0, 1, 1}, false)).epsilon(1e-3));
  const double uneven = bytes_between_nodes(reference, plan, {0, 0, 0, 1}, true);
  CHECK(
      uneven ==
      Approx(2.0 / 3.0 * bytes_between_nodes(reference, plan, {0, 0, 0, 1}, false)).epsilon(1e-3));
}

TEST_CASE("gradients in bf16 are half the bytes, on every way", "[np4]") {
  Reference reference("untied");
  const Plan plan = reference.plan(1, 4, 1, 4, "1f1b");
  const double flat = bytes_between_nodes(reference, plan, {0, 0, 1, 1}, false);
  const double nodes = bytes_between_nodes(reference, plan, {0, 0, 1, 1}, true);
  reference.config.training.gradient_precision = GradientPrecision::bf16;
  CHECK(bytes_between_nodes(reference, plan, {0, 0, 1, 1}, false) == 0.5 * flat);
  CHECK(bytes_between_nodes(reference, plan, {0, 0, 1, 1}, true) == 0.5 * nodes);
}

namespace {

/// Blocks that fill a bucket each, between an embedding and a loss that do not.
Config wide_config() {
  Config config;
  config.model.layers = 2;
  config.model.hidden_size = 320;
  config.model.heads = 4;
  config.model.vocabulary_size = 32;
  config.training.sequence_length = 8;
  config.training.global_batch_size = 8;
  config.training.steps = 2;
  config.job.timeout = 600.0;
  return config;
}

/// How far the losses of two plans may lie apart. Their matrix products have other shapes, and so,
/// by what vectors the processor has, another order of additions. Of n additions each rounds by up
/// to 2^-24 of the sum, up or down: together they are off by about sqrt(n) times that. The longest
/// sums are those over the 4 H columns within a block, and the losses that are made of them are
/// about log(vocabulary).
double loss_tolerance() {
  const ModelConfig model = wide_config().model;
  const double longest_sum = 4.0 * static_cast<double>(model.hidden_size);
  return std::sqrt(longest_sum) * std::ldexp(1.0, -24) *
         std::log(static_cast<double>(model.vocabulary_size));
}

/// What happened on this rank, in order: "layer 1" where its W begins, "sum" where a bucket of
/// gradients begins to be summed over the replicas.
using Events = std::vector<std::string>;

class RecordingSums final : public ForwardingCommunicator {
 public:
  RecordingSums(std::unique_ptr<Communicator> real, Events& events)
      : ForwardingCommunicator(std::move(real)), events_(events) {}
  PendingPtr start(Collective collective, void* data, DType type,
                   const std::vector<Interval>& slices) override {
    if (collective != Collective::all_gather) events_.emplace_back("sum");
    return ForwardingCommunicator::start(collective, data, type, slices);
  }

 private:
  Events& events_;
};

class RecordingGroups final : public CommunicationDecorator {
 public:
  explicit RecordingGroups(Events& events) : events_(events) {}
  std::unique_ptr<Communicator> decorate(std::unique_ptr<Communicator> group, GroupKind kind,
                                         const std::vector<int>&, int, double) override {
    if (kind != GroupKind::data) return group;
    return std::make_unique<RecordingSums>(std::move(group), events_);
  }
  std::unique_ptr<Transport> decorate(std::unique_ptr<Transport> transport) override {
    return transport;
  }
  void start_iteration() override { events_.clear(); }

 private:
  Events& events_;
};

class RecordingLayer final : public LayerModule {
 public:
  RecordingLayer(std::unique_ptr<LayerModule> real, std::string name, Events& events)
      : real_(std::move(real)), name_(std::move(name)), events_(events) {}
  Tensor forward(Batch& batch, Tensor input, SavedPtr* saved) override {
    return real_->forward(batch, std::move(input), saved);
  }
  Tensor backward_input(const Batch& batch, Tensor gradient, Saved& saved) override {
    return real_->backward_input(batch, std::move(gradient), saved);
  }
  void backward_weight(const Batch& batch, Saved& saved) override {
    events_.push_back(name_);
    real_->backward_weight(batch, saved);
  }

 private:
  std::unique_ptr<LayerModule> real_;
  std::string name_;
  Events& events_;
};

struct Trained {
  std::vector<double> losses;
  std::vector<double> grad_norms;
  Events events;  ///< of the last step
};

Trained trained(MPI_Comm comm, const Plan& plan, const std::vector<int>& nodes) {
  const Config config = wide_config();
  const Model model = build_model(config.model, config.training, "test");
  Trained result;
  RecordingGroups groups(result.events);
  SessionOptions options;
  options.nodes = nodes;
  options.communication = &groups;
  options.layers = [&](const Layer& layer, ChunkId chunk, LayerContext& context) {
    return std::make_unique<RecordingLayer>(make_layer(layer, chunk, context), layer.name,
                                            result.events);
  };
  Session session(comm, config, model, plan, RankMap::identity(size_of(comm)), options);
  fill_random(session.device()->parameters(), 1);
  for (std::int64_t step = 0; step < config.training.steps; ++step) {
    const IterationResult found =
        session.train(step, [&](std::int64_t sample, const SampleSlot& slot) {
          for (int t = 0; t < 8; ++t) {
            const std::int64_t token = (7 * step + 3 * sample + t) % 32;
            if (slot.tokens != nullptr) slot.tokens[t] = static_cast<std::uint32_t>(token);
            if (slot.targets != nullptr)
              slot.targets[t] = static_cast<std::int32_t>((token + 1) % 32);
          }
        });
    result.losses.push_back(found.loss);
    result.grad_norms.push_back(found.grad_norm);
  }
  return result;
}

/// Replicas of the whole model, two micro-batches.
Plan replicas(int num, const char* schedule, int zero_stage = 0) {
  Plan plan = uniform_plan({{0, 4}}, num, 1, 8, 4, schedule);
  plan.stages[0].zero_stage = zero_stage;
  return plan;
}

}  // namespace

TEST_CASE("a bucket of gradients is summed while the last backward goes on", "[np4]") {
  const Trained alone = trained(MPI_COMM_SELF, replicas(1, "1f1b"), {});
  REQUIRE(alone.events.size() == 8);  // the W of four layers, twice
  for (const char* schedule : {"1f1b", "gpipe", "zb-h1"}) {
    for (const std::vector<int>& nodes : std::vector<std::vector<int>>{{}, {0, 0, 1, 1}}) {
      for (const int zero_stage : {0, 1}) {
        const Trained found = trained(MPI_COMM_WORLD, replicas(4, schedule, zero_stage), nodes);
        CHECK(largest_difference(found.losses, alone.losses) <= loss_tolerance());
        CHECK(found.grad_norms.front() == Approx(alone.grad_norms.front()).epsilon(1e-5));
        // Nothing in the first backward; in the second one the last block's sum begins before W
        // comes to the first block.
        Events tasks;
        std::vector<int> sums(9, 0);  // begun before each of the W, and after all of them
        for (const std::string& event : found.events) {
          if (event == "sum") {
            ++sums[tasks.size()];
          } else {
            tasks.push_back(event);
          }
        }
        INFO(schedule << " on " << nodes.size() << " nodes, ZeRO " << zero_stage);
        CHECK(tasks == alone.events);
        CHECK(std::accumulate(sums.begin(), sums.begin() + 6, 0) == 0);
        CHECK(sums[6] > 0);
      }
    }
  }
}
