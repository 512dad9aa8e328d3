// Any layer of any kind of network as the only one of its stage or chunk, divided in any way that
// it can be.
#include <cmath>
#include <random>

#include "cluster/read.hpp"
#include "config/read.hpp"
#include "cost/transfer_forms.hpp"
#include "model/build/check.hpp"
#include "plan/match.hpp"
#include "planners/judge/planned_orders.hpp"
#include "profile/analytic.hpp"
#include "program/check.hpp"
#include "program/model_ties.hpp"
#include "schedule/schedule.hpp"
#include "simulate/order_options.hpp"
#include "simulate/simulate.hpp"
#include "simulate/training_simulation.hpp"
#include "support/catch.hpp"
#include "support/files.hpp"

namespace pptrain {
namespace {

constexpr int most_devices = 4;  // of a stage
constexpr int num_devices = 4 * most_devices;
constexpr std::int64_t micro_batch = 8;

const char* const texts = R"(
[model]
vocabulary_size = 64
[[model.layer]]
kind = "embedding"
columns = 32
[[model.layer]]
repeat = 2
heads = 4
feed_forward = 32
experts = 4
experts_every = 2
shared_expert = 16
[[model.layer]]
heads = 4
experts = 4
[[model.layer]]
kind = "output"
)";

const char* const images = R"(
[[model.layer]]
kind = "images"
image_size = 16
[[model.layer]]
kind = "convolution"
channels = 8
batch_norm = true
pool = "max"
[[model.layer]]
kind = "residual"
channels = 16
stride = 2
[[model.layer]]
kind = "dense"
columns = 32
[[model.layer]]
kind = "classes"
classes = 8
)";

const char* const drawings = R"(
[[model.layer]]
kind = "latent"
inputs = 6
image_size = 4
columns = 32
[[model.layer]]
heads = 4
[[model.layer]]
kind = "enlarge"
[[model.layer]]
kind = "pixels"
channels = 2
)";

const char* const machine = R"(
[[device]]
kind = "v"
memory = "1 GB"
memory_bandwidth = "100 GB/s"
flops = { fp32 = "1 TFLOP/s" }
[[node]]
count = 2
devices = { kind = "v", count = 8 }
link = { bandwidth = "10 GB/s", latency = "1 us" }
uplink = { bandwidth = "1 GB/s", latency = "10 us" }
host_link = { bandwidth = "10 GB/s" }
)";

std::string written(const std::string& folder) {
  return "[model]\nfrom = \"" + test_data("models/" + folder) + "\"\n";
}

/// Draws plans of a model.
class LonePlans {
 public:
  LonePlans(const Model& model, unsigned seed) : model_(model), random_(seed) {}

  /// One in which the layer is a chunk; those before and behind it are others.
  Plan with_alone(std::int64_t layer) {
    const std::vector<Interval> chunks = chunks_around(layer);
    const int virtual_stages = chunks.size() % 2 == 0 && chance() ? 2 : 1;
    Plan plan;
    plan.micro_batch_size = micro_batch;
    plan.micro_batches = 2;
    plan.global_batch_size = 2 * micro_batch;
    const char* const several[] = {"interleaved-1f1b", "breadth-first", "zeropp"};
    const char* const single[] = {"1f1b", "zb-h1", "gpipe"};
    plan.schedule = {virtual_stages > 1 ? several[pick(0, 2)] : single[pick(0, 2)], virtual_stages,
                     0};
    const int stages = static_cast<int>(chunks.size()) / virtual_stages;
    for (int s = 0; s < stages; ++s) add_stage(plan);
    for (std::size_t c = 0; c < chunks.size(); ++c) {
      Stage& stage = plan.stages[c % static_cast<std::size_t>(stages)];
      stage.layers.push_back(chunks[c]);
      if (chunks[c].size() == 1 && (chunks[c].begin == layer || chance()))
        add_block(stage, chunks[c].begin);
    }
    for (Stage& stage : plan.stages) {
      if (stage.zero_stage > 0 && stage.blocks.empty() && stage.replicas == 4)
        stage.zero_groups = {{0, 2}, {2, 4}};
    }
    return plan;
  }

 private:
  int pick(int low, int high) { return std::uniform_int_distribution<int>(low, high)(random_); }
  bool chance() { return pick(0, 1) == 1; }

  std::vector<Interval> chunks_around(std::int64_t layer) {
    std::vector<Interval> chunks;
    const Interval all[] = {{0, layer}, {layer, layer + 1}, {layer + 1, model_.num_layers()}};
    for (const Interval& part : all) {
      if (part.empty()) continue;
      const std::int64_t middle =
          part.size() > 1 && chance() ? part.begin + part.size() / 2 : part.begin;
      if (middle > part.begin) chunks.push_back({part.begin, middle});
      chunks.push_back({middle, part.end});
    }
    if (chunks.size() > 4) chunks = {all[0], all[1], all[2]};
    return chunks;
  }

  void add_stage(Plan& plan) {
    const int first = most_devices * plan.num_stages();
    Stage& stage = plan.stages.emplace_back();
    stage.replicas = 1 << pick(0, 2);
    stage.tensor_parallel = 1 << pick(0, stage.replicas == 4 ? 0 : 1);
    for (int j = 0; j < stage.replicas; ++j) {
      stage.devices.emplace_back();
      for (int k = 0; k < stage.tensor_parallel; ++k) {
        stage.devices.back().emplace_back(first + j * stage.tensor_parallel + k);
      }
    }
    stage.samples = uneven(micro_batch, stage.replicas);
    stage.zero_stage = pick(0, 3);
    const Recompute recomputes[] = {Recompute::none, Recompute::selective, Recompute::full};
    stage.recompute = recomputes[pick(0, 2)];
    stage.offload = chance();
    stage.offload_activations = chance();
  }

  /// In any of the ways in which the layer can be divided.
  void add_block(Stage& stage, std::int64_t l) {
    const Layer& layer = model_.layers[static_cast<std::size_t>(l)];
    const int devices = stage.replicas * stage.tensor_parallel;
    Block block;
    block.layers = {l, l + 1};
    block.tensor_parallel = std::min(devices, 1 << pick(0, 2));
    block.replicas = devices / block.tensor_parallel;
    block.pattern = block.tensor_parallel == 1 ? TensorPattern::replicate
                    : chance()                 ? TensorPattern::megatron
                                               : TensorPattern::sp1;
    block.samples = uneven(micro_batch, block.replicas);
    if (block.tensor_parallel > 1 && layer.has_division(WeightDivision::rows) && chance())
      block.pattern = TensorPattern::sp2;
    if (layer.has_division(WeightDivision::experts) && chance()) {
      if (block.pattern != TensorPattern::replicate) block.pattern = TensorPattern::megatron;
      block.shards["experts"] = uneven(model_.axis_size(ShardAxis::experts), block.tensor_parallel);
    }
    if (layer.has_division(WeightDivision::exchange) && chance()) {
      block.pattern = TensorPattern::all_to_all;
      block.samples = uneven(micro_batch, devices);
      block.shards["experts"] = uneven(model_.axis_size(ShardAxis::experts), block.tensor_parallel);
    }
    stage.blocks.push_back(block);
  }

  /// The first part has what the even division leaves to others.
  std::vector<Interval> uneven(std::int64_t size, int count) {
    std::vector<Interval> parts = even_division(size, count);
    if (count == 1 || parts[1].size() == 1 || chance()) return parts;
    ++parts[0].end;
    ++parts[1].begin;
    return parts;
  }

  const Model& model_;
  std::mt19937 random_;
};

/// What layers hold, as if it had been measured.
void add_bytes(Profile& profile) {
  for (ProfileLayer& layer : profile.layers) {
    for (ProfileRow& row : layer.rows) {
      const double stored = row.samples * layer.stored_bytes / row.tensor_parallel;
      row.bytes = {stored, 0.5 * stored, 0.25 * stored, 0.1 * stored, 0.5 * stored};
    }
  }
}

void check_simulated(const Instance& instance, const Plan& plan) {
  const Programs programs = planned_programs(instance, plan);
  REQUIRE(find_violation(plan, programs, instance.ties).empty());
  const Simulation simulation = simulate(instance, plan, programs);
  CHECK(std::isfinite(simulation.makespan_seconds));
  CHECK(simulation.makespan_seconds >= lower_bound_seconds(instance) * (1 - 1e-9));
  const std::vector<double> work = device_work_seconds(instance, plan);
  const std::vector<double> state = fixed_bytes(instance, plan, Workspace::left_out);
  for (std::size_t p = 0; p < programs.size(); ++p) {
    const SimulatedDevice& device = simulation.devices[p];
    INFO("device " << device.device.value);
    CHECK(device.busy_seconds >= work[device.device.index()] * (1 - 1e-9));
    if (!plan.stages[programs[p].stage.index()].offload) {
      CHECK(device.busy_seconds <= work[device.device.index()] * (1 + 1e-9));
    }
    CHECK(device.busy_seconds + device.communication_seconds <=
          simulation.makespan_seconds * (1 + 1e-9));
    CHECK((std::isfinite(device.peak_bytes) && device.peak_bytes >= 0.0));
    if (instance.ties.empty())
      CHECK(device.peak_bytes >= state[device.device.index()] * (1 - 1e-9));
  }
  const CompileOptions options = {instance.ties, cheapest_forms(instance, plan)};
  const std::vector<TaskOrder> orders = task_orders(plan, order_options(instance, plan));
  const Simulation by_class = TrainingSimulation(instance, plan, options).run(orders);
  CHECK(by_class.makespan_seconds == Approx(simulation.makespan_seconds).epsilon(1e-9));
  const Prediction prediction = predict(instance, plan);
  for (const auto& [name, seconds] : prediction.estimates)
    CHECK((std::isfinite(seconds) && seconds > 0.0));
}

void check_network(const std::string& text) {
  const Cluster cluster = parse_cluster(machine, "machine.toml");
  const std::string training =
      "[training]\nsequence_length = 16\nglobal_batch_size = 16\nmicro_batch_size = 8\n";
  const Config config = parse_config(training + text, "network.toml", "");
  const Model model = build_model_of(config);
  Profile profile = analytic_profile(config, cluster);
  LonePlans plans(model, 17);
  for (int draw = 0; draw < 24; ++draw) {
    if (draw == 12) add_bytes(profile);
    const Instance instance = {profile, cluster, 2 * micro_batch,
                               ties_of(model, profile.bytes_per_parameter.gradient)};
    for (std::int64_t layer = 0; layer < model.num_layers(); ++layer) {
      const Plan plan = plans.with_alone(layer);
      INFO("layer " << layer << " (" << model.layers[static_cast<std::size_t>(layer)].name
                    << "), draw " << draw << write_plan(plan));
      REQUIRE_NOTHROW(check_plan_model(plan, model, "drawn"));
      check_simulated(instance, plan);
    }
  }
}

TEST_CASE("a layer of texts alone in a stage or chunk is simulated however it is divided",
          "[simulate]") {
  check_network(texts);
}
TEST_CASE("a layer of images alone in a stage or chunk is simulated however it is divided",
          "[simulate]") {
  check_network(images);
  check_network(drawings);
}
TEST_CASE(
    "a layer of a published network alone in a stage or chunk is simulated however it is divided",
    "[simulate]") {
  for (const char* folder : {"mixtral", "qwen2-moe", "t5-tied", "bert", "vit", "gpt2-hf"}) {
    INFO(folder);
    check_network(written(folder));
  }
}

}  // namespace
}  // namespace pptrain
