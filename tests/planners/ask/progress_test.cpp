#include "planners/ask/progress.hpp"

#include <latch>
#include <thread>
#include <vector>

#include "support/catch.hpp"

namespace pptrain {
namespace {

TEST_CASE("a status has the last step, the sum of candidates and the least time", "[planners]") {
  SearchProgress progress;
  CHECK(progress.status().planner.empty());
  CHECK(progress.status().candidates == 0);
  CHECK_FALSE(progress.status().best_seconds);
  progress.asks("asking amp");
  progress.asks("asking alpa");
  progress.examined(3);
  progress.examined(4);
  for (const double seconds : {2.0, 3.0, 1.5, 1.75}) progress.found(seconds);
  const SearchStatus before = progress.status();
  CHECK(before.planner == "asking alpa");
  CHECK(before.candidates == 7);
  CHECK(before.best_seconds == 1.5);

  progress.judges_anew();
  CHECK_FALSE(progress.status().best_seconds);
  CHECK(progress.status().planner == "asking alpa");
  CHECK(progress.status().candidates == 7);
  progress.found(5.0);
  CHECK(progress.status().best_seconds == 5.0);
  CHECK(before.best_seconds == 1.5);
}

TEST_CASE("nothing that several threads tell is lost", "[planners]") {
  constexpr int threads = 4, times = 100'000;
  SearchProgress progress;
  std::latch start(threads);
  std::vector<std::thread> telling;
  for (int t = 0; t < threads; ++t) {
    telling.emplace_back([&] {
      start.arrive_and_wait();
      for (int i = 0; i < times; ++i) progress.examined(1);
    });
  }
  for (std::thread& thread : telling) thread.join();
  CHECK(progress.status().candidates == threads * times);
}

}  // namespace
}  // namespace pptrain
