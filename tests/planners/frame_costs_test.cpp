#include "planners/frames/frame_costs.hpp"

#include <algorithm>

#include "cluster/read.hpp"
#include "config/read.hpp"
#include "cost/cost.hpp"
#include "planners/judge/simulated_plan.hpp"
#include "planners/search.hpp"
#include "profile/analytic.hpp"
#include "support/catch.hpp"

namespace pptrain {
namespace {

const char* const job = R"([model]
name = "gpt2"
layers = 8
hidden_size = 1024
heads = 16
vocabulary_size = 1024
[training]
sequence_length = 1024
global_batch_size = 8
micro_batch_size = 8
precision = "bf16"
[parallelism]
pipeline = 1
tensor = 4
recompute = "none"
zero_stage = 0
schedule = "1f1b"
offload = false
offload_activations = false
[cluster]
file = "c.toml"
[profile]
analytic = true
)";

const char* const four_devices = R"([[device]]
kind = "d"
memory = "80 GB"
flops = { bf16 = "100 TFLOP/s" }
memory_bandwidth = "1 TB/s"
[[node]]
kind = "n"
count = 1
devices = { kind = "d", count = 4 }
link = { bandwidth = "100 GB/s" }
)";

TEST_CASE("frames fit by what members hold, where the closed form counts all of a layer on each", "[frames]") {
  const Config config = parse_config(job, "job.toml", "");
  Cluster cluster = parse_cluster(four_devices, "c.toml");
  const Profile profile = analytic_profile(config, cluster);
  const Restrictions restrictions = restrictions_of(config);
  const auto found = [&] {
    return search_plan("auto", {profile, cluster, config.training.global_batch_size}, restrictions, "job.toml").plan;
  };
  const std::optional<Plan> roomy = found();
  REQUIRE(roomy);
  const Instance instance = {profile, cluster, config.training.global_batch_size};
  PlanSimulator simulator(instance);
  const std::vector<double>& peaks = simulator.of(*roomy).peak_bytes;
  const double peak = *std::max_element(peaks.begin(), peaks.end());
  const double by_closed_form = memory_bytes(instance, *roomy).front();
  cluster.device_kinds.front().memory = 1.05 * peak;
  REQUIRE(by_closed_form > cluster.device_kinds.front().memory);
  CHECK(found());
  cluster.device_kinds.front().memory = 0.95 * peak;
  CHECK_FALSE(found());
}

}  // namespace
}  // namespace pptrain
