// Steps that other threads simulate before they are asked for.
#include "planners/frames/steps_ahead.hpp"

#include <thread>

#include "base/error.hpp"
#include "base/infinity.hpp"
#include "planners/large_instances.hpp"
#include "support/catch.hpp"

namespace pptrain {
namespace {

constexpr int layers = 12;
constexpr std::int64_t batch = 16;

/// Plans of four stages, each with another first cut.
std::vector<Plan> plans_of(const ScheduleChoice& schedule) {
  std::vector<Plan> plans;
  for (std::int64_t cut = 1; cut <= 4; ++cut)
    plans.push_back(
        uniform_plan({{0, cut}, {cut, 5}, {5, 8}, {8, layers}}, 1, 1, batch, 4, schedule));
  return plans;
}

bool same(const std::optional<SimulatedPlan>& a, const std::optional<SimulatedPlan>& b) {
  if (!a || !b) return a.has_value() == b.has_value();
  return a->iteration_seconds == b->iteration_seconds && a->work == b->work;
}

TEST_CASE("steps that another thread simulated come to what they come to here", "[planners]") {
  const Profile profile = blocks(layers, 0.4);
  const Cluster cluster = mixed_nodes(2, 2);
  const Instance instance = {profile, cluster, batch};
  PlanSimulator own(instance);
  PlanSimulator helping(instance);
  const std::vector<Plan> plans = plans_of({"auto", 1, 0});
  const SimulatedPlan before = own.of(plans.front());
  const auto orders =
      std::make_shared<const std::vector<TaskOrder>>(own.fastest_orders(plans.front()));
  const std::vector<Step> steps = {{plans[1], orders, infinity, before.iteration_seconds},
                                   {plans[2], orders, 0.0, before.iteration_seconds},
                                   {plans[3], nullptr, infinity, before.iteration_seconds}};
  StepsAhead ahead(1);
  CHECK_FALSE(ahead.is_served());
  std::thread helper([&] { ahead.serve(helping); });
  while (!ahead.is_served()) std::this_thread::yield();
  std::vector<std::shared_ptr<StepsAhead::Task>> tasks;
  for (const Step& step : steps) tasks.push_back(ahead.offer(step));
  std::vector<TriedStep> results;
  for (const auto& task : tasks) results.push_back(ahead.result_of(task, own));
  ahead.end_search();
  helper.join();
  for (std::size_t i = 0; i < steps.size(); ++i) {
    PlanSimulator alone(instance);
    const TriedStep expected = try_step(alone, steps[i]);
    CHECK(results[i].can);
    CHECK(same(results[i].in_order, expected.in_order));
    CHECK(same(results[i].own, expected.own));
  }
  CHECK(results[0].in_order);
  CHECK(results[0].own);
  CHECK(results[1].in_order);
  CHECK_FALSE(results[1].own);  // not worth orders of its own
  CHECK_FALSE(results[2].in_order);
  CHECK(results[2].own);
}

TEST_CASE("a step that cannot be simulated fails where its result is asked for", "[planners]") {
  Profile profile = blocks(layers, 0.4);
  for (ProfileRow& row : profile.layers.front().rows) row.split_known = false;
  const Cluster cluster = mixed_nodes(2, 2);
  const Instance instance = {profile, cluster, batch};
  PlanSimulator own(instance);
  PlanSimulator helping(instance);
  StepsAhead ahead(1);
  std::thread helper([&] { ahead.serve(helping); });
  const auto task = ahead.offer({plans_of({"zb-h1", 1, 0}).front(), nullptr, infinity, infinity});
  CHECK_THROWS_AS(ahead.result_of(task, own), Error);
  ahead.end_search();
  helper.join();
}

TEST_CASE("a step that is taken back is not simulated", "[planners]") {
  const Profile profile = blocks(layers, 0.4);
  const Cluster cluster = mixed_nodes(2, 2);
  const Instance instance = {profile, cluster, batch};
  PlanSimulator own(instance);
  StepsAhead ahead(1);
  const Plan plan = plans_of({"1f1b", 1, 0}).front();
  ahead.withdraw(ahead.offer({plan, nullptr, infinity, infinity}));
  const auto kept = ahead.offer({plans_of({"gpipe", 1, 0}).front(), nullptr, infinity, infinity});
  CHECK(ahead.result_of(kept, own).own);
  CHECK_FALSE(own.is_known(plan));
}

}  // namespace
}  // namespace pptrain
