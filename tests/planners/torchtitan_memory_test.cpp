// Peaks of memory that torchtitan's authors measured on H100s with 96 GB: benchmarks/llama3_h100_202412_torchtitan.md
// of its repository, Llama 3.1, tables 1 to 6, with torch.compile.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "cluster/expression.hpp"
#include "config/read.hpp"
#include "planners/judge/simulated_plan.hpp"
#include "profile/analytic.hpp"
#include "support/catch.hpp"
#include "support/files.hpp"

namespace pptrain {
namespace {

struct Llama {
  int layers;
  int hidden;
  int feed_forward;
  int heads;
};
constexpr Llama llama_8b = {32, 4096, 14336, 32};
constexpr Llama llama_70b = {80, 8192, 28672, 64};
constexpr Llama llama_405b = {126, 16384, 53248, 128};

/// Bounds of predicted over measured.
struct Within {
  double least;
  double most;
};

struct Run {
  const char* table;
  Llama model;
  int devices;
  int pipeline;
  int tensor;
  int samples;  ///< of a micro-batch of a replica
  int tokens;
  Recompute recompute;
  double gibibytes;  ///< that the allocator of the fullest GPU held at most
  Within within;
};

/// Layers of stages as even as they go, the embedding and the output beside the blocks.
std::vector<Interval> even_stages(int layers, int stages) {
  std::vector<Interval> all;
  for (int s = 0; s < stages; ++s) all.push_back({s * layers / stages, (s + 1) * layers / stages});
  return all;
}

double predicted(const Run& run) {
  const int data = run.devices / run.pipeline / run.tensor;
  const int micro_batches = run.pipeline;  // torchtitan's default
  const int batch = run.samples * data * micro_batches;
  const std::string text = fmt::format(
      "[model]\nfrom = \"{}\"\n[training]\nsequence_length = {}\nglobal_batch_size = {}\nprecision = \"bf16\"\n"
      "[parallelism]\nlike = \"torchtitan\"\ntensor = {}\n[cluster]\nfile = \"c.toml\"\n[profile]\nanalytic = true\n",
      source_file("inputs/models/llama-3-8b"), run.tokens, batch, run.tensor);
  Config config = parse_config(text, "job.toml", source_file(""));
  config.model.description = fmt::format(
      R"({{"model_type": "llama", "num_hidden_layers": {}, "hidden_size": {}, "intermediate_size": {},
           "num_attention_heads": {}, "num_key_value_heads": 8, "vocab_size": 128256, "rms_norm_eps": 1e-5}})",
      run.model.layers, run.model.hidden, run.model.feed_forward, run.model.heads);
  const Cluster cluster = parse_cluster_expression(fmt::format("{}x dgx-h100", run.devices / 8));
  const Profile profile = analytic_profile(config, cluster);
  Plan plan = uniform_plan(even_stages(run.model.layers + 2, run.pipeline), data, run.tensor, batch, run.samples * data,
                           "1f1b");
  for (Stage& stage : plan.stages) {
    stage.recompute = run.recompute;
    stage.zero_stage = run.pipeline > 1 ? 1 : 3;
  }
  const Instance instance = {profile, cluster, batch};
  PlanSimulator simulator(instance);
  const std::vector<double>& peaks = simulator.of(plan).peak_bytes;
  return *std::max_element(peaks.begin(), peaks.end()) / std::exp2(30.0);
}

TEST_CASE("memory of torchtitan's jobs is what its authors measured", "[planners]") {
  constexpr Within close = {0.95, 1.05};
  // Products in fp8 and sums by asynchronous tensor parallelism have buffers that are not in the model.
  constexpr Within low = {0.75, 1.0};
  const std::vector<Run> runs = {
      {"1", llama_8b, 8, 1, 1, 2, 8192, Recompute::selective, 77.0, close},
      {"3", llama_8b, 128, 1, 1, 2, 8192, Recompute::selective, 62.0, close},
      {"2, 32768 tokens", llama_8b, 8, 1, 1, 1, 32768, Recompute::full, 83.9, close},
      {"4", llama_70b, 256, 1, 8, 16, 8192, Recompute::full, 67.6, low},
      {"5, 1F1B", llama_405b, 512, 8, 8, 4, 8192, Recompute::full, 82.5, low},
      {"6, 32768 tokens", llama_405b, 512, 8, 8, 1, 32768, Recompute::full, 75.3, low},
  };
  for (const Run& run : runs) {
    const double found = predicted(run);
    INFO("table " << run.table << ": " << found << " GiB, measured " << run.gibibytes);
    CHECK(found > run.within.least * run.gibibytes);
    CHECK(found < run.within.most * run.gibibytes);
  }
}

}  // namespace
}  // namespace pptrain
