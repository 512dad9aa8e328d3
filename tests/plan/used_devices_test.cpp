#include "plan/used_devices.hpp"

#include "cost/instances.hpp"
#include "support/catch.hpp"

namespace pptrain {
namespace {

TEST_CASE("devices with a place in any stage are used", "[plan]") {
  Plan plan = uniform_plan({{0, 2}, {2, 3}}, 1, 2, 1, 1, "1f1b");
  plan.stages[1].devices = {{DeviceId(6), DeviceId(4)}};
  CHECK(used_devices(plan, 7) == std::vector<bool>{true, true, false, false, true, false, true});
}

}  // namespace
}  // namespace pptrain
