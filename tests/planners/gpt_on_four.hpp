#pragma once

#include <algorithm>
#include <string>

#include "cluster/read.hpp"
#include "config/read.hpp"
#include "planners/judge/planned_orders.hpp"
#include "planners/search.hpp"
#include "profile/analytic.hpp"
#include "simulate/simulate.hpp"

namespace pptrain {

/// A GPT of 1.5 billion parameters on 2 x 2 devices of so many gigabytes.
struct Gpt {
  Config config;
  Cluster cluster;
  Profile profile;

  explicit Gpt(int gigabytes)
      : config(parse_config(
            "model.name = \"gpt2\"\nmodel.layers = 24\nmodel.hidden_size = 2240\nmodel.heads = 28\n"
            "model.vocabulary_size = 50257\nmodel.tied = true\ntraining.sequence_length = 1024\n"
            "training.global_batch_size = 16\ntraining.precision = \"bf16\"\n"
            "parallelism.zero_stage = 3\nparallelism.recompute = \"full\"\n",
            "gpt.toml", "", {})),
        cluster(parse_cluster(
            "name = \"2x2\"\n"
            "[[device]]\nkind = \"gpu\"\nmemory = \"" +
                std::to_string(gigabytes) +
                " GB\"\nmemory_bandwidth = \"900 GB/s\"\nflops = { bf16 = \"100 TFLOP/s\" }\n"
                "[[node]]\nkind = \"node\"\ncount = 2\ndevices = { kind = \"gpu\", count = 2 }\n"
                "link = { bandwidth = \"50 GB/s\" }\nuplink = { bandwidth = \"10 GB/s\" }\n",
            "2x2.toml")),
        profile(analytic_profile(config, cluster)) {}

  Instance instance() const {
    return {profile, cluster, config.training.global_batch_size, ties_of(config, profile)};
  }
};

/// How many times its memory the fullest device needs, device by device in the plain simulator.
inline double simulated_use(const Instance& instance, const Plan& plan) {
  double use = 0.0;
  for (const SimulatedDevice& device :
       simulate(instance, plan, planned_programs(instance, plan)).devices) {
    use = std::max(use, device.peak_bytes / instance.cluster.kind_of(device.device).memory);
  }
  return use;
}

/// What the planner finds by the closed forms alone.
inline Outcome by_forms(const std::string& planner, const Instance& instance,
                        const Restrictions& restrictions) {
  return planner_called(planner).search(
      {instance, restrictions, schedule_under(restrictions).name});
}

}  // namespace pptrain
