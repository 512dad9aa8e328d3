#include "simulate/report.hpp"

#include "profile/json.hpp"
#include "simulate/read_order.hpp"
#include "simulate/small_pipeline.hpp"
#include "support/catch.hpp"

namespace pptrain {
namespace {

TEST_CASE("a small pipeline is drawn", "[simulate]") {
  SmallPipeline made;
  CHECK(pipeline_picture(made.run(task_orders(made.plan)), made.programs) ==
        "     0  F0F1....B0--F2B1--..B2--\n"
        "     1  ..F0B0--F1B1--F2B2--....\n");
  CHECK(pipeline_picture(made.run(parse_orders(zero_bubble, "o", made.plan)), made.programs) ==
        "     0  F0F1..B0W0F2B1W1B2W2\n"
        "     1  ..F0B0F1B1W0F2B2W1W2\n");
}

TEST_CASE("a simulation as JSON", "[simulate]") {
  SmallPipeline made;
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

}  // namespace
}  // namespace pptrain
