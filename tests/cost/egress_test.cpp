#include "cost/egress.hpp"

#include "cost/instances.hpp"
#include "support/catch.hpp"

namespace pptrain {
namespace {

/// Two nodes of two devices, each on a switch of its own: what leaves the first costs 2 a GB, the
/// second 3.
Cluster two_sites() {
  Cluster cluster = nodes_of(1, 2, 1e12);
  cluster.groups.push_back(cluster.groups.front());
  cluster.groups[0].switch_name = "a";
  cluster.groups[1].switch_name = "b";
  cluster.switches = {{"a", {50.0, 1.0}, "", 2.0}, {"b", {50.0, 1.0}, "", 3.0}};
  cluster.currency = "EUR";
  cluster.finish("made");
  return cluster;
}

/// Two layers of 10^6 parameters, 4 bytes of gradient each, 1000 bytes of a sample between them.
Profile profile_of_two() {
  Profile profile = two_layers(1000.0);
  for (ProfileLayer& layer : profile.layers) layer.parameters = 1e6;
  profile.bytes_per_parameter = {4.0, 4.0, 8.0};
  add_degree(profile, 2);
  return profile;
}

TEST_CASE("activations leave one site and their gradients the other", "[cost][egress]") {
  const Profile profile = profile_of_two();
  const Cluster cluster = two_sites();
  const Instance instance = {profile, cluster, 8};
  // Stage 0 on devices 0 and 1, stage 1 on 2 and 3: all of 8 samples cross the cut, in both
  // directions.
  const Plan plan = uniform_plan({{0, 1}, {1, 2}}, 2, 1, 8, 4, "1f1b");
  CHECK(bytes_leaving_switches(instance, plan) == std::vector<double>{8000.0, 8000.0});
  CHECK(egress_money(instance, plan) == Approx(8e-6 * 2.0 + 8e-6 * 3.0));
}

TEST_CASE("sums of gradients go round both sites", "[cost][egress]") {
  const Profile profile = profile_of_two();
  const Cluster cluster = two_sites();
  const Instance instance = {profile, cluster, 8};
  // Each of two nodes sends 2 (2 - 1) / 2 of the 8 MB of gradients, members of a tensor-parallel
  // group half of it each.
  const Plan replicas = uniform_plan({{0, 2}}, 4, 1, 8, 4, "1f1b");
  CHECK(bytes_leaving_switches(instance, replicas) == std::vector<double>{8e6, 8e6});
  const Plan divided = uniform_plan({{0, 2}}, 2, 2, 8, 4, "1f1b");
  CHECK(bytes_leaving_switches(instance, divided) == std::vector<double>{8e6, 8e6});
  Plan sharded = replicas;
  sharded.stages.front().zero_stage = 3;  // weights of two micro-batches too, before F and before B
  CHECK(bytes_leaving_switches(instance, sharded) == std::vector<double>{24e6, 24e6});
}

TEST_CASE("nothing leaves a site that a plan stays on", "[cost][egress]") {
  const Profile profile = profile_of_two();
  const Cluster cluster = two_sites();
  const Instance instance = {profile, cluster, 8};
  CHECK(egress_money(instance, uniform_plan({{0, 1}, {1, 2}}, 1, 1, 8, 4, "1f1b")) == 0.0);
}

}  // namespace
}  // namespace pptrain
