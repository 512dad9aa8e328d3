#include "base/parallel_for.hpp"

#include <sched.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <stdexcept>
#include <thread>
#include <vector>

#include "base/in_process.hpp"
#include "support/catch.hpp"

namespace pptrain {
namespace {

/// Returns when so many threads have come here.
void wait_for_all(std::atomic<int>& arrived, int threads) {
  ++arrived;
  while (arrived < threads) std::this_thread::yield();
}

TEST_CASE("each number is visited once, by all threads at a time, which count from the calling one",
          "[base]") {
  for (const int threads : {1, 3, 8, 100}) {
    CAPTURE(threads);
    std::vector<std::atomic<int>> visits(57);
    std::atomic<int> arrived = 0, wrong = 0;
    const auto caller = std::this_thread::get_id();
    parallel_for(57, threads, [&](int thread, int i) {
      ++visits.at(static_cast<std::size_t>(i));
      if (thread < 0 || thread >= threads) ++wrong;
      if ((thread == 0) != (std::this_thread::get_id() == caller)) ++wrong;
      wait_for_all(arrived, std::min(threads, 57));
      // One thread too many gets its turn meanwhile; no result waits for it.
      std::this_thread::sleep_for(std::chrono::microseconds(100));
    });
    CHECK(std::all_of(visits.begin(), visits.end(), [](const auto& count) { return count == 1; }));
    CHECK(wrong == 0);
  }
  parallel_for(0, 4, [](int, int) { FAIL("there is nothing to visit"); });
}

TEST_CASE(
    "what a call throws is thrown again when none runs any more, and what is left is left out",
    "[base]") {
  int visited = 0;
  CHECK_THROWS_WITH(parallel_for(10, 1,
                                 [&](int, int i) {
                                   ++visited;
                                   if (i == 2) throw std::runtime_error("number 2");
                                 }),
                    "number 2");
  CHECK(visited == 3);

  std::atomic<int> arrived = 0;
  std::atomic<bool> ended = false;
  CHECK_THROWS_WITH(parallel_for(2, 2,
                                 [&](int thread, int) {
                                   wait_for_all(arrived, 2);
                                   if (thread == 0) throw std::runtime_error("at once");
                                   for (int i = 0; i < 1000; ++i) std::this_thread::yield();
                                   ended = true;
                                 }),
                    "at once");
  CHECK(ended);
}

TEST_CASE("where no thread can be started the calling one does all", "[base]") {
  const Ended ended = in_process([] {
    refuse_threads();
    parallel_for(3, 3, [](int thread, int i) { std::printf("%d by %d, ", i, thread); });
  });
  CHECK(ended.code == 0);
  CHECK(ended.printed == "0 by 0, 1 by 0, 2 by 0, ");
}

/// Tells when the thread that it is of ends.
struct Farewell {
  std::atomic<bool>* told = nullptr;
  ~Farewell() {
    if (told != nullptr) *told = true;
  }
};

TEST_CASE("of two exceptions the first one is thrown again, and no call begins after it",
          "[base]") {
  std::atomic<int> arrived = 0;
  std::atomic<bool> helper_ended = false;
  CHECK_THROWS_WITH(parallel_for(10, 2,
                                 [&](int thread, int) {
                                   wait_for_all(arrived, 2);
                                   if (thread == 0) {
                                     while (!helper_ended) std::this_thread::yield();
                                     throw std::runtime_error("the second");
                                   }
                                   thread_local Farewell farewell;
                                   farewell.told = &helper_ended;
                                   throw std::runtime_error("the first");
                                 }),
                    "the first");
  CHECK(arrived == 2);
}

TEST_CASE("cores are those that the process may use", "[base]") {
  cpu_set_t allowed;
  REQUIRE(::sched_getaffinity(0, sizeof allowed, &allowed) == 0);
  CHECK(usable_cores() == CPU_COUNT(&allowed));
  const Ended ended = in_process([&] {
    int core = 0;
    while (!CPU_ISSET(core, &allowed)) ++core;
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(core, &one);
    if (::sched_setaffinity(0, sizeof one, &one) != 0) ::_exit(99);
    ::_exit(usable_cores());
  });
  CHECK(ended.code == 1);
}

}  // namespace
}  // namespace pptrain
