// Plans chosen by simulation.

#include <algorithm>

#include "base/error.hpp"
#include "planners/everything_free.hpp"
#include "planners/frames/neighbours.hpp"
#include "planners/frames/schedule_choices.hpp"
#include "planners/judge/simulated_plan.hpp"
#include "planners/large_instances.hpp"
#include "planners/search.hpp"
#include "planners/simulation_of.hpp"
#include "support/catch.hpp"

namespace pptrain {
namespace {

void check_prediction(const Instance& instance, const Plan& plan) {
  const Simulation simulation = simulation_of(instance, plan);
  const Prediction& predicted = *plan.predicted;
  CHECK(predicted.basis == PredictionBasis::simulation);
  CHECK(predicted.iteration_seconds == simulation.makespan_seconds);
  CHECK(predicted.bubble_fraction == simulation.bubble_fraction());
  for (const SimulatedDevice& device : simulation.devices) {
    CHECK(predicted.peak_bytes[device.device.index()] == device.peak_bytes);
    CHECK(device.peak_bytes <= instance.cluster.kind_of(device.device).memory);
  }
}

TEST_CASE("no cut of a plan that was found can be moved by a layer to advantage", "[planners]") {
  Profile profile = blocks(40, 0.4);
  for (std::size_t l = 0; l < profile.layers.size(); ++l) {  // layers are unlike, so that each cut
                                                             // has one best place
    for (ProfileRow& row : profile.layers[l].rows) {
      const double factor = 1.0 + 0.1 * static_cast<double>(l * 7 % 11);
      row.seconds = {row.seconds.forward * factor, row.seconds.backward_input * factor,
                     row.seconds.backward_weight * factor};
    }
  }
  const Cluster cluster = mixed_nodes(4, 4);
  const Instance instance = {profile, cluster, 64};
  Restrictions restrictions = test::everything_free();
  restrictions.effort = Effort::quick;  // leaders have too little work to move every cut
  restrictions.pipeline = 8;
  restrictions.schedule = "interleaved-1f1b";
  restrictions.virtual_stages = 2;
  const Plan plan = *search_plan("auto", instance, restrictions, "x").plan;
  const SearchSpace space = {instance, restrictions, restrictions.schedule};
  PlanSimulator simulator(instance);
  const std::vector<Plan> others = shifted_layers(space, plan);
  REQUIRE(others.size() > 10);
  for (const Plan& other : others) {
    const SimulatedPlan& result = simulator.of(other);
    CHECK((!result.why_not.empty() ||
           result.iteration_seconds >= plan.predicted->iteration_seconds * (1.0 - 1e-5)));
  }
}

TEST_CASE("a search tells how far it is", "[planners]") {
  const Profile profile = blocks(10, 0.4);
  const Cluster cluster = mixed_nodes(2, 4);
  const Instance instance = {profile, cluster, 16};
  SearchProgress progress;
  const Plan plan = *search_plan("auto", instance, {}, "x", Stop(), &progress).plan;
  const SearchStatus status = progress.status();
  CHECK(status.planner == "improving the best plans");
  CHECK(status.candidates > 0);
  CHECK(status.candidates <= plan.search_candidates);
  REQUIRE(status.best_seconds);
  CHECK_THAT(*status.best_seconds,
             Catch::Matchers::WithinRel(plan.predicted->iteration_seconds, 1e-3));  // no closed
                                                                                    // form's
}

TEST_CASE("every planner's iteration is the simulator's, and auto's is the least", "[planners]") {
  const Profile profile = blocks(10, 0.4);
  const Cluster cluster = mixed_nodes(2, 4);
  const Instance instance = {profile, cluster, 16};
  const Plan best = *search_plan("auto", instance, {}, "x").plan;
  check_prediction(instance, best);
  for (const auto& planner : planners()) {
    if (planner->name() == "exhaustive") continue;
    CAPTURE(planner->name());
    const Plan plan = *search_plan(planner->name(), instance, {}, "x").plan;
    check_prediction(instance, plan);
    CHECK(best.predicted->iteration_seconds <= plan.predicted->iteration_seconds);
    CHECK(plan.predicted->lower_bound_seconds <= best.predicted->iteration_seconds);
    for (const Alternative& other : best.alternatives) {
      if (other.planner == planner->name())
        CHECK(other.iteration_seconds == plan.predicted->iteration_seconds);
    }
  }
}

TEST_CASE("auto chooses a schedule, and says what the others take", "[planners]") {
  const Profile profile = blocks(8, 0.0);
  const Cluster cluster = mixed_nodes(4, 1);
  const Instance instance = {profile, cluster, 16};
  Restrictions pipeline;
  pipeline.pipeline = 4;
  const Plan plan = *search_plan("auto", instance, pipeline, "x").plan;
  CHECK(plan.schedule.name != "1f1b");
  REQUIRE_FALSE(plan.schedules.empty());
  const auto plain =
      std::find_if(plan.schedules.begin(), plan.schedules.end(),
                   [](const ScheduleAlternative& other) { return other.schedule.name == "1f1b"; });
  REQUIRE(plain != plan.schedules.end());
  Plan other = plan;
  other.schedule = plain->schedule;
  CHECK(plain->iteration_seconds == simulation_of(instance, other).makespan_seconds);
  CHECK(*plain->iteration_seconds > plan.predicted->iteration_seconds);
  const Plan read = parse_plan(write_plan(plan), "written");
  CHECK(read.schedules.size() == plan.schedules.size());
  CHECK(read.schedules.front().iteration_seconds == plan.schedules.front().iteration_seconds);
  CHECK(read.predicted->basis == PredictionBasis::simulation);
}

TEST_CASE("a schedule that is asked for stays", "[planners]") {
  const Profile profile = blocks(8, 0.2);
  const Cluster cluster = mixed_nodes(4, 1);
  const Instance instance = {profile, cluster, 16};
  for (const char* name : {"1f1b", "gpipe"}) {
    Restrictions fixed;
    fixed.schedule = name;
    const Plan plan = *search_plan("auto", instance, fixed, "x").plan;
    CHECK(plan.schedule.name == name);
    CHECK(plan.schedules.empty());
  }
}

TEST_CASE("a profile without times of W leaves out what splits B and W", "[planners]") {
  Profile profile = blocks(8, 0.0);
  for (ProfileLayer& layer : profile.layers) {
    for (ProfileRow& row : layer.rows) row.split_known = false;
  }
  Restrictions free;
  free.virtual_stages = std::nullopt;
  const Plan plan = uniform_plan(even_division(8, 4), 1, 1, 16, 1, "1f1b");
  const std::vector<ScheduleChoice> choices = schedule_choices(free, profile, plan);
  CHECK_FALSE(choices.empty());
  for (const ScheduleChoice& choice : choices) {
    CHECK_FALSE(choice.name.starts_with("zb-"));
    CHECK(choice.name != "zeropp");
    CHECK(choice.name != "auto");
  }
}

TEST_CASE("stages keep their share of the work when chunks are laid out anew", "[planners]") {
  const Profile profile = blocks(24, 0.0);
  const Plan plan = uniform_plan({{0, 12}, {12, 24}}, 1, 1, 8, 1, "1f1b");
  const Plan interleaved =
      *with_schedule(Restrictions(), profile, plan, {"interleaved-1f1b", 3, 0});
  CHECK(interleaved.stages[0].layers == std::vector<Interval>{{0, 4}, {8, 12}, {16, 20}});
  CHECK(interleaved.stages[1].layers == std::vector<Interval>{{4, 8}, {12, 16}, {20, 24}});
  const Plan uneven = uniform_plan({{0, 16}, {16, 24}}, 1, 1, 8, 1, "1f1b");
  const Plan v_shape = *with_schedule(Restrictions(), profile, uneven, {"zb-v", 2, 0});
  CHECK(v_shape.stages[0].layers == std::vector<Interval>{{0, 8}, {16, 24}});
  CHECK(v_shape.stages[1].layers == std::vector<Interval>{{8, 12}, {12, 16}});
  CHECK_FALSE(with_schedule(Restrictions(), blocks(4, 0.0),
                            uniform_plan({{0, 2}, {2, 4}}, 1, 1, 8, 1, "1f1b"), {"zeropp", 3, 0}));
}

}  // namespace
}  // namespace pptrain
