#include "simulate/keys.hpp"

#include "profile/json.hpp"
#include "simulate/report.hpp"
#include "simulate/small_pipeline.hpp"
#include "support/catch.hpp"

namespace pptrain {
namespace {

TEST_CASE("keys of a simulation are those that are described", "[simulate]") {
  SmallPipeline made;
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

}  // namespace
}  // namespace pptrain
