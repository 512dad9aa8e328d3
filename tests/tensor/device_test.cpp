#include "tensor/device.hpp"

#include "base/timing.hpp"
#include "support/catch.hpp"

using namespace pptrain;

TEST_CASE("the host's moments tell what this thread worked between them", "[tensor]") {
  const double cpu_before = thread_cpu_seconds();
  const DeviceMomentPtr start = host_device().moment();
  const double begin = thread_cpu_seconds();
  while (thread_cpu_seconds() - begin < 2e-3) {
  }
  const DeviceMomentPtr end = host_device().moment();
  const double cpu = thread_cpu_seconds() - cpu_before;
  CHECK(end->has_ended());
  CHECK(end->seconds_since(*start) >= 2e-3);
  CHECK(end->seconds_since(*start) <= cpu);
  CHECK(start->seconds_since(*end) == -end->seconds_since(*start));
}
