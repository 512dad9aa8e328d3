#include "base/parallel_for.hpp"

#include <sched.h>

#include <atomic>
#include <stdexcept>
#include <thread>

#include "base/in_process.hpp"
#include "support/catch.hpp"

namespace pptrain {
namespace {

TEST_CASE("each number is visited once, by threads that are numbered from the calling one on",
          "[base]") {
  for (const int threads : {1, 3, 8, 100}) {
    CAPTURE(threads);
    std::vector<std::atomic<int>> visits(57);
    std::atomic<int> wrong = 0;
    const auto caller = std::this_thread::get_id();
    parallel_for(57, threads, [&](int thread, int i) {
      ++visits.at(static_cast<std::size_t>(i));
      if (thread < 0 || thread >= threads) ++wrong;
      if ((thread == 0) != (std::this_thread::get_id() == caller)) ++wrong;
    });
    CHECK(std::all_of(visits.begin(), visits.end(), [](const auto& count) { return count == 1; }));
    CHECK(wrong == 0);
  }
  parallel_for(0, 4, [](int, int) { FAIL("there is nothing to visit"); });
}

TEST_CASE("threads visit at the same time", "[base]") {
  std::atomic<int> inside = 0;
  // Each call waits for the other, which only another thread can make.
  parallel_for(2, 2, [&](int, int) {
    ++inside;
    while (inside < 2) std::this_thread::yield();
  });
  CHECK(inside == 2);
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

  std::atomic<int> begun = 0, ended = 0;
  CHECK_THROWS_WITH(parallel_for(1000000, 2,
                                 [&](int, int) {
                                   if (begun++ == 0) {
                                     while (begun < 2) std::this_thread::yield();
                                     throw std::runtime_error("the first");
                                   }
                                   std::this_thread::yield();
                                   ++ended;
                                 }),
                    "the first");
  CHECK(ended == begun - 1);  // all but the one that threw
  CHECK(begun < 1000000);
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
