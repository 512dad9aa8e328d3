#include "runtime/places/offload_check.hpp"

#include "base/error.hpp"
#include "cost/instances.hpp"
#include "support/catch.hpp"

namespace pptrain {
namespace {

TEST_CASE("a rank that computes on the host has nothing to offload to, unless it plays a device",
          "[runtime]") {
  Machine machine;
  machine.cluster = nodes_of(1, 2);
  const RankDevice host;
  const Config free = with_offload_decided({}, machine, host);
  CHECK(free.parallelism.offload == false);
  CHECK(free.parallelism.offload_activations == false);
  check_offload(free, machine, host);
  Config asked;
  asked.parallelism.offload = true;
  CHECK(with_offload_decided(asked, machine, host).parallelism.offload == true);
  CHECK_THROWS_AS(check_offload(asked, machine, host), Error);
  machine.cluster.emulate = Emulate::timing;
  CHECK_FALSE(with_offload_decided({}, machine, host).parallelism.offload.has_value());
  check_offload(asked, machine, host);
}

}  // namespace
}  // namespace pptrain
