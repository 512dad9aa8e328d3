// Events of ranks come in order, whatever is pushed between.
#include "schedule/rank_events.hpp"

#include <random>
#include <set>

#include "support/catch.hpp"

namespace pptrain {
namespace {

TEST_CASE("events of ranks come earliest first, of equal ones the lowest rank", "[schedule]") {
  std::mt19937 random(1);
  for (int round = 0; round < 50; ++round) {
    RankEvents events;
    std::multiset<RankEvents::Event> expected;
    for (int step = 0; step < 5000; ++step) {
      REQUIRE(events.any_left() == !expected.empty());
      if (expected.empty() || random() % 5 < 3) {
        const RankEvents::Event event = {static_cast<double>(random() % 20),
                                         static_cast<int>(random() % 6), step};
        events.push(event);
        expected.insert(event);
      } else {
        const RankEvents::Event first = events.pop();
        REQUIRE(first.when == expected.begin()->when);
        REQUIRE(first.rank == expected.begin()->rank);
        expected.erase(expected.begin());
      }
    }
    events.clear();
    REQUIRE_FALSE(events.any_left());
  }
}

}  // namespace
}  // namespace pptrain
