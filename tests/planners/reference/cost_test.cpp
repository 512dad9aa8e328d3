// The cost model of src/cost against the plain one beside this file, on random plans of random
// instances.

#include "cost/cost.hpp"

#include <algorithm>

#include "planners/reference/check_predicted.hpp"
#include "planners/reference/random_instance.hpp"
#include "planners/reference/random_plan.hpp"

namespace pptrain::reference {
namespace {

constexpr int num_instances = 2500;
constexpr int plans_of_an_instance = 8;

TEST_CASE("AMP's terms equal the plain ones", "[cost]") {
  for (int seed = 0; seed < num_instances; ++seed) {
    const RandomInstance instance = random_instance(seed);
    Choices choices(seed);
    for (int p = 0; p < plans_of_an_instance; ++p) {
      Plan plan = random_plan(instance, choices);
      if (p % 2 == 1) divide_differently(instance, choices, plan);
      CAPTURE(seed, p, write_plan(plan));
      const AmpTerms terms = amp_terms(instance.view(), plan);
      REQUIRE(equal(terms.iteration_seconds, amp(instance.profile, instance.cluster, plan)));
      for (int i = 0; i < plan.num_stages(); ++i) {
        const Stage& stage = plan.stages[i];
        REQUIRE(equal(terms.stage_seconds[i],
                      stage_seconds(instance.profile, instance.cluster, stage)));
        REQUIRE(equal(terms.gradient_seconds[i],
                      gradient_seconds(instance.profile, instance.cluster, stage)));
        if (i + 1 == plan.num_stages()) continue;
        REQUIRE(equal(terms.cut_seconds[i],
                      cut_seconds(instance.profile, instance.cluster, stage, plan.stages[i + 1])));
      }
    }
  }
}

TEST_CASE("DAPPLE's latency equals the plain one", "[cost]") {
  int compared = 0;
  for (int seed = 0; seed < num_instances; ++seed) {
    const RandomInstance instance = random_instance(seed);
    Choices choices(seed);
    for (int p = 0; p < plans_of_an_instance; ++p) {
      Plan plan = random_plan(instance, choices);
      if (p % 2 == 1) divide_differently(instance, choices, plan);
      const auto line = dapple_line(instance.profile, instance.cluster, plan);
      // The latency jumps where two stages tie for the pivot: there it hangs on the last digit.
      if (pivot(line, static_cast<double>(plan.micro_batches)).margin < 1e-12) continue;
      CAPTURE(seed, p, write_plan(plan));
      REQUIRE(equal(dapple_seconds(instance.view(), plan),
                    dapple(instance.profile, instance.cluster, plan)));
      ++compared;
    }
  }
  CHECK(compared > num_instances * plans_of_an_instance / 2);
}

TEST_CASE("memory equals the plain sum", "[cost]") {
  int too_much = 0;
  for (int seed = 0; seed < num_instances; ++seed) {
    const RandomInstance instance = random_instance(seed);
    Choices choices(seed);
    for (int p = 0; p < plans_of_an_instance; ++p) {
      Plan plan = random_plan(instance, choices);
      divide_differently(instance, choices, plan);
      CAPTURE(seed, p, write_plan(plan));
      const std::vector<double> ours = memory_bytes(instance.view(), plan);
      const std::vector<double> plain = memory(instance.profile, instance.cluster, plan);
      REQUIRE(ours.size() == plain.size());
      for (std::size_t d = 0; d < plain.size(); ++d) REQUIRE(equal(ours[d], plain[d]));
      REQUIRE(why_not_fit(instance.view(), plan).empty() ==
              fits(instance.profile, instance.cluster, plan));
      if (!fits(instance.profile, instance.cluster, plan)) ++too_much;
    }
  }
  CHECK(too_much > num_instances * plans_of_an_instance / 20);
}

TEST_CASE("links equal the plain walk up the tree", "[cost]") {
  for (int seed = 0; seed < num_instances; ++seed) {
    const Cluster cluster = random_instance(seed).cluster;
    std::vector<DeviceId> all;
    for (int a = 0; a < cluster.num_devices(); ++a) all.emplace_back(a);
    for (const DeviceId a : all) {
      for (const DeviceId b : all) {
        if (a == b) continue;
        CAPTURE(seed, a.value, b.value);
        const Path way = path(cluster, a, b);
        REQUIRE(cluster.bandwidth(a, b) == way.bandwidth);
        REQUIRE(cluster.latency(a, b) == way.latency);
      }
    }
    REQUIRE(equal(all_reduce_seconds(cluster, all, 1234.5), all_reduce(cluster, all, 1234.5)));
  }
}

}  // namespace
}  // namespace pptrain::reference
