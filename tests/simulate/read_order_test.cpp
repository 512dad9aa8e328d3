#include "simulate/read_order.hpp"

#include "profile/json.hpp"
#include "simulate/report.hpp"
#include "simulate/small_pipeline.hpp"
#include "support/complaint.hpp"

namespace pptrain {
namespace {

TEST_CASE("an order that was printed can be read", "[simulate]") {
  SmallPipeline made;
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
  const SmallPipeline made;
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

TEST_CASE("all devices of a stage run one order", "[simulate]") {
  const Plan plan = uniform_plan({{0, 1}}, 2, 1, 4, 2, "gpipe");
  const std::string order = R"(["F0.0", "F0.1", "B0.0", "B0.1"])";
  CHECK(parse_orders("[" + order + ", " + order + "]", "o.json", plan) == task_orders(plan));
  const std::string other = R"(["F0.0", "B0.0", "F0.1", "B0.1"])";
  CHECK_THAT(complaint_of([&] { parse_orders("[" + order + ", " + other + "]", "o.json", plan); }),
             Catch::Contains("o.json: [1]: differs from the order of another device"));
}

}  // namespace
}  // namespace pptrain
