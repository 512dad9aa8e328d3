#include "base/timing.hpp"

#include <thread>

#include "support/catch.hpp"

namespace pptrain {
namespace {

TEST_CASE("the median is the middle value, or the mean of the two in the middle", "[base]") {
  CHECK(median({3.0, 1.0, 20.0}) == 3.0);
  CHECK(median({40.0, 1.0, 3.0, 2.0}) == 2.5);
  CHECK(median({7.0}) == 7.0);
  CHECK(median({}) == 0.0);
}

/// Time that stands still but for who sleeps.
struct SleptTime final : TimeSource {
  double now = 100.0;

  double wall_seconds() override { return now; }
  double thread_cpu_seconds() override { return 5.0; }
  void sleep_until(double time) override { now = time; }
};

TEST_CASE("time is that of a source as long as one is set", "[base]") {
  const double before = wall_seconds();
  SleptTime source;
  set_time_source(&source);
  CHECK(wall_seconds() == 100.0);
  sleep_until(1e6);
  CHECK(wall_seconds() == 1e6);
  CHECK(thread_cpu_seconds() == 5.0);
  set_time_source(nullptr);
  CHECK(wall_seconds() >= before);
  CHECK(thread_cpu_seconds() != 5.0);
}

TEST_CASE("the machine's clock goes on and a sleep ends when its time has come", "[base]") {
  double last = wall_seconds();
  for (int i = 0; i < 3; ++i) {
    const double until = last + 0.002;
    sleep_until(until);
    last = wall_seconds();
    CHECK(last >= until);
  }
  sleep_until(last - 10.0);  // has come
  CHECK(wall_seconds() >= last);
}

TEST_CASE("the CPU time of a thread is not that of another one", "[base]") {
  const double before = thread_cpu_seconds();
  double of_helper = 0.0;
  std::thread([&] {
    const double start = thread_cpu_seconds();
    while (of_helper < 0.02) of_helper = thread_cpu_seconds() - start;
  }).join();
  CHECK(thread_cpu_seconds() - before < of_helper);  // it waited
}

}  // namespace
}  // namespace pptrain
