#include "cost/cost.hpp"

#include "cost/instances.hpp"
#include "support/complaint.hpp"

namespace pptrain {
namespace {

TEST_CASE("a kind of device without times is refused by name", "[cost]") {
  const Profile profile = two_layers(50.0);
  Cluster cluster = nodes_of(1, 1);
  add_slow_node(cluster, 1);
  const std::string text = complaint_of([&] { check_instance({profile, cluster, 8}, "p.json"); });
  CHECK(text.starts_with("p.json: the profile has no time of layer \"a\" on device kind \"t\""));
  CHECK(text.find("--analytic") != std::string::npos);
}

TEST_CASE("a plan with a degree that the profile lacks is refused", "[cost]") {
  const Profile profile = two_layers(50.0);
  const Cluster cluster = nodes_of(1, 2);
  const Plan plan = uniform_plan({{0, 2}}, 1, 2, 8, 4, "1f1b");
  CHECK(complaint_of([&] {
          predict({profile, cluster, 8}, plan);
        }).find("no time of layer \"a\" on device kind \"v\" at tensor_parallel 2") !=
        std::string::npos);
}

}  // namespace
}  // namespace pptrain
