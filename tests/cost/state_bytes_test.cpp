#include "cost/state_bytes.hpp"

#include "cost/instances.hpp"
#include "support/catch.hpp"

namespace pptrain {
namespace {

/// Layers of 10 and 30 parameters.
Profile layers_with_state() {
  Profile profile = two_layers(0.0);
  profile.bytes_per_parameter = {2, 4, 8};
  profile.layers[0].parameters = 10;
  profile.layers[1].parameters = 30;
  return profile;
}

TEST_CASE("weights, gradients and optimizer state add up to what is held all the time", "[cost]") {
  const Profile profile = layers_with_state();
  const Cluster cluster = nodes_of(1, 5);
  const Instance instance = {profile, cluster, 24};
  Plan plan = uniform_plan({{0, 1}, {1, 2}}, 2, 1, 24, 6, "1f1b");
  plan.stages[0].zero_stage = 1;
  plan.stages[1].zero_stage = 3;
  plan.stages[1].offload = true;
  const std::vector<StateBytes> state = state_bytes(instance, plan);
  const std::vector<double> fixed = fixed_bytes(instance, plan, Workspace::left_out);
  REQUIRE(state.size() == fixed.size());
  for (std::size_t d = 0; d < state.size(); ++d) CHECK(state[d].sum() == fixed[d]);
  CHECK(state[0].optimizer == 10 * 8 / 2);
  CHECK(state[2].weights == 30 * 2 / 2);
  CHECK(state[2].optimizer == 0);
  CHECK(state[4].sum() == 0);
}

TEST_CASE("a ZeRO stage divides its part of the state by those who share it", "[cost]") {
  const BytesPerParameter bytes = {2, 4, 8};
  const auto parts = [](const StateBytes& state) {
    return std::vector<double>{state.weights, state.gradients, state.optimizer};
  };
  const auto held = [&](int zero_stage) {
    return parts(state_bytes_per_parameter(bytes, zero_stage, 4.0));
  };
  CHECK(held(0) == std::vector<double>{2, 4, 8});
  CHECK(held(1) == std::vector<double>{2, 4, 2});
  CHECK(held(2) == std::vector<double>{2, 1, 2});
  CHECK(held(3) == std::vector<double>{0.5, 1, 2});
  Stage mesh;
  mesh.zero_stage = 2;
  CHECK(parts(state_bytes_per_parameter(bytes, mesh, 4.0)) == held(2));
  mesh.offload = true;
  CHECK(parts(state_bytes_per_parameter(bytes, mesh, 4.0)) == std::vector<double>{2, 1, 0});
}

}  // namespace
}  // namespace pptrain
