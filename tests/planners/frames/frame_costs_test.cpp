#include "planners/frames/frame_costs.hpp"

#include <algorithm>

#include "cluster/read.hpp"
#include "config/read.hpp"
#include "cost/cost.hpp"
#include "cost/instances.hpp"
#include "planners/frames/scheduled_cost.hpp"
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

TEST_CASE("frames fit by what members hold, where the closed form counts all of a layer on each",
          "[frames]") {
  const Config config = parse_config(job, "job.toml", "");
  Cluster cluster = parse_cluster(four_devices, "c.toml");
  const Profile profile = analytic_profile(config, cluster);
  const Restrictions restrictions = restrictions_of(config);
  const auto found = [&] {
    return search_plan("auto", {profile, cluster, config.training.global_batch_size}, restrictions,
                       "job.toml")
        .plan;
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

TEST_CASE("sums of the stages of a node pass its uplink one beside another, and so it is bounded",
          "[frames]") {
  // Two layers of F, B and W of 1 s and 1000 B of gradients; uplinks of 100 B/s.
  Profile profile;
  profile.layers = {layer("a", 1, 1, 1), layer("b", 1, 1, 1)};
  for (ProfileLayer& l : profile.layers) l.parameters = 100;
  profile.bytes_per_parameter = {10, 10, 0};
  Cluster cluster = nodes_of(2, 2, 1e9);
  cluster.groups[0].link = {1e12, 0.0};
  cluster.groups[0].uplink.latency = 0.0;
  cluster.finish("made");
  const Instance instance = {profile, cluster, 2};
  FrameTables tables(instance);
  const std::vector<DeviceRows> in_nodes = {{{DeviceId(0)}, {DeviceId(2)}},
                                            {{DeviceId(1)}, {DeviceId(3)}}};
  const PlacedShape placed(instance, in_nodes, ZeroGroup::replicas);
  const FrameCosts costs(instance, tables, placed, 2);
  PlanSimulator simulator(instance);
  const auto bound = [&](int zero_stage) {
    return ScheduledCost(costs, {"1f1b", 1, 0}, {RecomputeRule::none, zero_stage})
        .of({{0, 1}, {1, 2}})
        .seconds;
  };
  const auto simulated = [&](int zero_stage) {
    Plan plan = uniform_plan({{0, 1}, {1, 2}}, 2, 1, 2, 2, "1f1b");
    for (std::size_t s : {0, 1}) {
      plan.stages[s].devices = in_nodes[s];
      plan.stages[s].zero_stage = zero_stage;
    }
    return simulator.of(plan).iteration_seconds;
  };
  // The last stage sums from 4 s on, the first from 6 s on: 2000 B in all.
  CHECK(bound(0) == Approx(4.0 + 20.0));
  CHECK(simulated(0) == Approx(4.0 + 20.0));
  // Both stages gather half of 1000 B each at the beginning, which takes 10 s, and sum the other
  // half from 14 s on.
  CHECK(simulated(1) == Approx(10.0 + 4.0 + 10.0));
  CHECK(bound(1) <= simulated(1));
  CHECK(bound(1) >= 10.0 + 6.0);
}

}  // namespace
}  // namespace pptrain
