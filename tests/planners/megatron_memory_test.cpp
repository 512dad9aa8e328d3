// Memory of Megatron-LM's jobs as its authors count it: Korthikanti et al., "Reducing activation
// recomputation in large transformer models", MLSys 2023, tables 2 and 3.
#include <fmt/format.h>

#include <cmath>

#include "cluster/expression.hpp"
#include "config/read.hpp"
#include "planners/judge/simulated_plan.hpp"
#include "profile/analytic.hpp"
#include "support/catch.hpp"

namespace pptrain {
namespace {

/// A model of table 3 with its degrees.
struct Job {
  const char* name;
  int heads;
  int hidden;
  int layers;
  int pipeline;
  int samples;  ///< of a micro-batch
};
constexpr int tokens = 2048;
constexpr int vocabulary = 51200;
constexpr int tensor = 8;

struct Saving {
  const char* name;
  bool sequence_parallel;
  Recompute recompute;
};

/// Bytes that the first of the stages stores: as many micro-batches as there are stages, of its
/// part of the layers (table 2, which leaves out what is before and behind the layers).
double activations(const Job& job, const Saving& saving) {
  const double whole = static_cast<double>(tokens) * job.samples * job.hidden * job.layers;
  if (saving.recompute == Recompute::full) return 2.0 * whole;
  const double scores = saving.recompute == Recompute::selective
                            ? 0.0
                            : 5.0 * job.heads * tokens / static_cast<double>(job.hidden);
  const double undivided = saving.sequence_parallel ? 10.0 / tensor : 10.0;
  return whole * (undivided + 24.0 / tensor + scores / tensor);
}

/// Bytes of weights and gradients, and of Adam's state with weights in fp32, of a member of the
/// first stage.
double state(const Job& job) {
  const double hidden = job.hidden;
  const double block = 12.0 * hidden * hidden + 13.0 * hidden;
  return 18.0 * (job.layers / job.pipeline * block + (vocabulary + tokens) * hidden) / tensor;
}

/// The fullest device of the first stage.
double predicted(const Job& job, const Saving& saving) {
  const std::string text = fmt::format(
      "[model]\nname = \"gpt2\"\nlayers = {}\nhidden_size = {}\nheads = {}\nvocabulary_size = "
      "{}\n[training]\n"
      "sequence_length = {}\nglobal_batch_size = {}\nprecision = \"bf16\"\ndropout = "
      "0.1\n[parallelism]\nlike = "
      "\"megatron\"\ntensor "
      "= "
      "{}\n[cluster]\nfile = \"c.toml\"\n[profile]\nanalytic = true\nattention = "
      "\"stored-dropout\"\n"
      "sequence_parallel = {}\n",
      job.layers, job.hidden, job.heads, vocabulary, tokens, job.samples * job.pipeline, tensor,
      saving.sequence_parallel);
  const Config config = parse_config(text, "job.toml", "");
  Cluster cluster = parse_cluster_expression(fmt::format("{}x dgx-a100-80", job.pipeline));
  for (DeviceKind& kind : cluster.device_kinds) kind.memory = 1e15;
  const Profile profile = analytic_profile(config, cluster);
  std::vector<Interval> layers;
  const int each = job.layers / job.pipeline;
  for (int s = 0; s < job.pipeline; ++s) {
    layers.push_back(
        {s == 0 ? 0 : 1 + s * each, s + 1 == job.pipeline ? job.layers + 2 : 1 + (s + 1) * each});
  }
  Plan plan = uniform_plan(layers, 1, tensor, job.samples * job.pipeline, job.samples, "1f1b");
  for (Stage& stage : plan.stages) stage.recompute = saving.recompute;
  const Instance instance = {profile, cluster, job.samples * job.pipeline};
  PlanSimulator simulator(instance);
  const SimulatedPlan& simulated = simulator.of(plan);
  double most = 0.0;
  for (const auto& row : plan.stages.front().devices) {
    for (const DeviceId device : row) most = std::max(most, simulated.peak_bytes[device.index()]);
  }
  return most;
}

TEST_CASE("memory of Megatron-LM's jobs is what its authors count", "[planners]") {
  const std::vector<Job> jobs = {{"22B", 64, 6144, 48, 1, 4},
                                 {"175B", 96, 12288, 96, 8, 1},
                                 {"530B", 128, 20480, 105, 35, 1},
                                 {"1T", 160, 25600, 128, 64, 1}};
  const std::vector<Saving> savings = {
      {"tensor parallelism", false, Recompute::none},
      {"sequence parallelism", true, Recompute::none},
      {"selective", false, Recompute::selective},
      {"sequence parallelism, selective", true, Recompute::selective},
      {"full", false, Recompute::full}};
  for (const Job& job : jobs) {
    for (const Saving& saving : savings) {
      const double counted = state(job) + activations(job, saving);
      const double found = predicted(job, saving);
      INFO(job.name << ", " << saving.name << ": " << found / 1e9 << " GB, counted "
                    << counted / 1e9);
      CHECK(std::abs(found / counted - 1.0) < 0.1);
    }
  }
}

}  // namespace
}  // namespace pptrain
