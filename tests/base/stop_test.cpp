#include "base/stop.hpp"

#include <limits>

#include "support/catch.hpp"

using namespace pptrain;

TEST_CASE("a stop without a limit never ends by itself", "[base]") {
  CHECK_FALSE(Stop().requested());
  CHECK_FALSE(Stop(0.0).requested());
  CHECK(Stop().seconds_left() == std::numeric_limits<double>::infinity());
}

TEST_CASE("a stop ends at its limit and not before", "[base]") {
  const Stop late(1000.0);
  CHECK_FALSE(late.requested());
  CHECK(late.seconds_left() > 900.0);
  CHECK(late.seconds_left() <= 1000.0);
  const Stop sooner = late.within(1e-9);
  while (!sooner.requested()) {
  }
  CHECK(sooner.seconds_left() == 0.0);
  CHECK(Stop(10.0).within(1000.0).seconds_left() <= 10.0);
}
