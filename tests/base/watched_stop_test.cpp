#include "base/watched_stop.hpp"

#include "support/catch.hpp"

namespace pptrain {
namespace {

/// A stop that is over.
Stop past() {
  const Stop stop(1e-9);
  while (!stop.requested()) {
  }
  return stop;
}

TEST_CASE("a watched stop ends some thousand steps after its stop, and stays so", "[base]") {
  WatchedStop watched(past());
  int steps = 1;
  while (!watched.requested() && steps < 1000000) ++steps;
  CHECK(steps >= 1000);  // the clock is not asked at every step
  CHECK(steps < 100000);
  CHECK(watched.requested());
  CHECK(watched.requested(0));
}

TEST_CASE("steps that are told together count as many", "[base]") {
  WatchedStop at_once(past());
  CHECK(at_once.requested(1000000));
  WatchedStop one_by_one(past()), by_tens(past());
  int single = 1, tens = 1;
  while (!one_by_one.requested()) ++single;
  while (!by_tens.requested(10)) ++tens;
  CHECK(single == 10 * tens);
}

TEST_CASE("a watched stop without an end goes on", "[base]") {
  WatchedStop watched{Stop()};
  int ended = 0;
  for (int i = 0; i < 100000; ++i) ended += watched.requested() ? 1 : 0;
  CHECK(ended == 0);
}

}  // namespace
}  // namespace pptrain
