#include "simulate/report.hpp"

#include "cost/instances.hpp"
#include "profile/json.hpp"
#include "schedule/schedule.hpp"
#include "simulate/keys.hpp"
#include "simulate/read_order.hpp"
#include "support/complaint.hpp"

namespace pptrain {
namespace {

/// Two stages of one layer each with F, B and W of 1 s and no communication; three micro-batches.
struct Case {
  Profile profile;
  Cluster cluster = nodes_of(1, 2);
  Plan plan = uniform_plan({{0, 1}, {1, 2}}, 1, 1, 3, 1, "1f1b");
  Programs programs;

  Case() {
    profile.layers = {layer("a", 1, 1, 1), layer("b", 1, 1, 1)};
    cluster.groups[0].link.latency = 0.0;
    cluster.finish("made");
  }
  Simulation run(const std::vector<TaskOrder>& orders) {
    programs = compile_training(plan, orders, {});
    return simulate({profile, cluster, 3}, plan, programs, {Recording::events});
  }
};

const std::string zero_bubble =
    R"([["F0.0", "F0.1", "B0.0", "W0.0", "F0.2", "B0.1", "W0.1", "B0.2", "W0.2"],
                                    ["F1.0", "B1.0", "F1.1", "B1.1", "W1.0", "F1.2", "B1.2", "W1.1", "W1.2"]])";

TEST_CASE("a small pipeline is drawn", "[simulate]") {
  Case made;
  CHECK(pipeline_picture(made.run(task_orders(made.plan)), made.programs) ==
        "     0  F0F1....B0--F2B1--..B2--\n"
        "     1  ..F0B0--F1B1--F2B2--....\n");
  CHECK(pipeline_picture(made.run(parse_orders(zero_bubble, "o", made.plan)), made.programs) ==
        "     0  F0F1..B0W0F2B1W1B2W2\n"
        "     1  ..F0B0F1B1W0F2B2W1W2\n");
}

TEST_CASE("a simulation as JSON", "[simulate]") {
  Case made;
  const Simulation simulation = made.run(task_orders(made.plan));
  const Json document =
      parse_json(simulation_json(simulation, made.programs, {{{"amp", 13.0}}, 9.5}), "out");
  CHECK(document["schema"] == "pptrain.simulation/1");
  CHECK(document["makespan_seconds"] == 12);
  CHECK(document["estimates"]["amp"] == 13);
  CHECK(document["lower_bound_seconds"] == 9.5);
  CHECK(document["bubble_fraction"] == 0.25);
  REQUIRE(document["ranks"].size() == 2);
  const Json& last = document["ranks"][1];
  CHECK(last["device"] == 1);
  CHECK(last["busy_seconds"] == 9);
  CHECK(last["idle_seconds"] == 3);
  CHECK(last["first_start_seconds"] == 1);
  CHECK(last["last_end_seconds"] == 10);
  CHECK(last["peak_stored"] == 1);
  CHECK(last["order"] == Json({"F1.0", "B1.0", "F1.1", "B1.1", "F1.2", "B1.2"}));
}

TEST_CASE("keys of a simulation are those that are described", "[simulate]") {
  Case made;
  const Json document = parse_json(
      simulation_json(made.run(task_orders(made.plan)), made.programs, {{{"amp", 13.0}}, 9.5}),
      "out");
  const auto names = [](const Json& object) {
    std::vector<std::string> all;
    for (const auto& [name, value] : object.items()) all.push_back(name);
    return all;
  };
  CHECK(names(document) == simulation_keys::root.names());
  CHECK(names(document["ranks"][0]) == simulation_keys::rank.names());
}

TEST_CASE("an order that was printed can be read", "[simulate]") {
  Case made;
  const std::vector<TaskOrder> orders = task_orders(made.plan);
  const Json document = parse_json(simulation_json(made.run(orders), made.programs, {}), "out");
  Json lists = Json::array();
  for (const Json& rank : document["ranks"]) lists.push_back(rank["order"]);
  CHECK(parse_orders(lists.dump(), "o", made.plan) == orders);
  CHECK(parse_orders(replaced(lists.dump(), "B0.0", "BW0.0"), "o", made.plan) == orders);
  CHECK(parse_orders(zero_bubble, "o", made.plan)[1][4] ==
        Task{TaskKind::backward_weight, ChunkId(1), MicroBatchId(0)});
}

TEST_CASE("a wrong order is refused", "[simulate]") {
  const Case made;
  const auto refused = [&](const std::string& from, const std::string& to) {
    return complaint_of(
        [&] { parse_orders(replaced(zero_bubble, from, to), "o.json", made.plan); });
  };
  CHECK_THAT(refused("\"F0.0\"", "\"G0.0\""), Catch::Contains("\"G0.0\" is no task"));
  CHECK_THAT(refused("\"F0.0\"", "\"F0.-1\""), Catch::Contains("is no task"));
  CHECK_THAT(refused("\"F0.0\"", "\"F0.0x\""), Catch::Contains("is no task"));
  CHECK_THAT(refused("\"F0.0\"", "7"), Catch::Contains("o.json"));
  CHECK_THAT(refused("\"F0.0\"", "\"F1.0\""), Catch::Contains("chunk 1 is not on stage 0"));
  CHECK_THAT(refused("\"F0.0\"", "\"F9.0\""), Catch::Contains("chunk 9 is not on stage 0"));
  CHECK_THAT(refused("\"F0.0\"", "\"F0.3\""), Catch::Contains("there is no micro-batch 3"));
  CHECK_THAT(refused("\"F0.0\"", "\"F0.1\""), Catch::Contains("comes twice or too early"));
  CHECK_THAT(refused("\"F0.0\", ", ""), Catch::Contains("\"B0.0\" comes twice or too early"));
  CHECK_THAT(refused(", \"B0.2\", \"W0.2\"", ""),
             Catch::Contains("chunk 0 never runs B of micro-batch 2"));
  CHECK_THAT(refused("[[", "[[], ["), Catch::Contains("3 lists of tasks"));
}

}  // namespace
}  // namespace pptrain
