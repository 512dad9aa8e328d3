#pragma once

#include <string>
#include <vector>

#include "cost/instances.hpp"
#include "schedule/schedule.hpp"
#include "simulate/simulate.hpp"

namespace pptrain {

/// Two stages of one layer each with F, B and W of 1 s and no communication; three micro-batches.
struct SmallPipeline {
  Profile profile;
  Cluster cluster = nodes_of(1, 2);
  Plan plan = uniform_plan({{0, 1}, {1, 2}}, 1, 1, 3, 1, "1f1b");
  Programs programs;

  SmallPipeline() {
    profile.layers = {layer("a", 1, 1, 1), layer("b", 1, 1, 1)};
    cluster.groups[0].link.latency = 0.0;
    cluster.finish("made");
  }
  Simulation run(const std::vector<TaskOrder>& orders) {
    programs = compile_training(plan, orders, {});
    return simulate({profile, cluster, 3}, plan, programs, {Recording::events});
  }
};

/// Orders of its stages that split B and W.
inline const std::string zero_bubble = R"(
[["F0.0", "F0.1", "B0.0", "W0.0", "F0.2", "B0.1", "W0.1", "B0.2", "W0.2"],
 ["F1.0", "B1.0", "F1.1", "B1.1", "W1.0", "F1.2", "B1.2", "W1.1", "W1.2"]])";

}  // namespace pptrain
