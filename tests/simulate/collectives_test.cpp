#include "simulate/collectives.hpp"

#include "support/catch.hpp"

namespace pptrain {
namespace {

PricedCollective collective(std::vector<int> programs, double seconds, int lane) {
  PricedCollective made;
  made.chunk = ChunkId(0);
  made.programs = std::move(programs);
  made.seconds = seconds;
  made.lane = lane;
  return made;
}

/// A collective of 100 bytes over an uplink of 100 B/s.
PricedCollective over_uplink(double seconds, int lane, int chunk = 0) {
  PricedCollective made = collective({lane}, seconds, lane);
  made.chunk = ChunkId(chunk);
  made.uplinks = {{{0, Uplink::Direction::up, {100.0, 0.0}}, 100.0}};
  return made;
}

/// Collectives in a network of their own; numbers from 10 on are theirs.
struct Playground {
  std::vector<PricedCollective> priced;
  EventQueue events = {};
  Network network{events};
  std::vector<int> routes = {};
  std::optional<Collectives> collectives = std::nullopt;

  void begin(int num_lanes) { collectives.emplace(priced, num_lanes, routes, 10, network, events); }

  /// Plays all events: "number of the collective, its start, its end".
  std::vector<std::vector<double>> play() {
    std::vector<std::vector<double>> ended;
    while (!events.empty()) {
      const Event event = events.pop();
      int index = event.index;
      if (event.kind != Event::Kind::reduction_end) {
        const int transfer = network.handle(event);
        if (transfer < 0) continue;
        index = transfer - 10;
      }
      const Collectives::Running running = collectives->end(event.time, index);
      ended.push_back({static_cast<double>(running.number), running.started, event.time});
    }
    return ended;
  }
};

using Ended = std::vector<std::vector<double>>;

TEST_CASE("a collective starts when its last member has come, again in the next round",
          "[simulate]") {
  Playground made{{collective({4, 7}, 3.0, 0)}};
  made.begin(1);
  made.collectives->come(1.0, 4, 0);
  made.collectives->come(1.5, 4, 0);  // for the second round
  CHECK(made.events.empty());
  made.collectives->come(2.0, 7, 0);
  CHECK(made.play() == Ended{{0, 2, 5}});
  made.collectives->come(5.5, 4, 0);  // for a third one
  CHECK(made.events.empty());
  made.collectives->come(6.0, 7, 0);
  CHECK(made.play() == Ended{{0, 6, 9}});
}

TEST_CASE("collectives of a lane go one after another, and wait for lanes that they are behind",
          "[simulate]") {
  Playground made{{collective({0}, 3.0, 0), collective({0}, 1.0, 0), collective({0}, 2.0, 1),
                   collective({1}, 0.5, 2)}};
  made.priced[2].behind = {0};
  made.begin(3);
  for (const int number : {0, 2, 1}) made.collectives->come(1.0, 0, number);
  made.collectives->come(1.0, 1, 3);
  CHECK_FALSE(made.collectives->of(1).runs);  // the second that came
  // The first one until 4; then the one that came to its lane later, and beside it the one that
  // waited for what had come to that lane before.
  CHECK(made.play() == Ended{{3, 1, 1.5}, {0, 1, 4}, {1, 4, 5}, {2, 4, 6}});
}

TEST_CASE("collectives that pass an uplink share it with all else that does", "[simulate]") {
  Playground made{{over_uplink(1.0, 0), over_uplink(4.0, 1)}};
  const int uplink = made.network.add_link(100.0);
  for (const PricedCollective& priced : made.priced)
    made.routes.push_back(add_collective_route(made.network, priced, {{uplink, 100.0}}));
  made.begin(2);
  made.collectives->come(0.0, 0, 0);
  // Alone 100 bytes in 1 s; the other sends 25 B/s even where the uplink is free.
  CHECK(made.play() == Ended{{0, 0, 1}});
  made.collectives->come(2.0, 1, 1);
  CHECK(made.play() == Ended{{1, 2, 6}});
  made.collectives->come(10.0, 0, 0);
  made.collectives->come(10.0, 1, 1);
  const Ended both = made.play();
  REQUIRE(both.size() == 2);
  CHECK(both[0][2] == Approx(10.0 + 100.0 / 75));
  CHECK(both[1][2] == Approx(14.0));
}

TEST_CASE("collectives that start together take the bytes of all on their uplink", "[simulate]") {
  std::vector<PricedCollective> priced = {over_uplink(1.0, 0), over_uplink(1.5, 1),
                                          over_uplink(1.0, 2, 1), collective({0}, 0.25, 3)};
  CHECK(seconds_together(priced) == std::vector<double>{2.0, 2.0, 1.0, 0.25});
  priced[1].kind = PricedCollective::Kind::weights;
  CHECK(seconds_together(priced) == std::vector<double>{1.0, 1.5, 1.0, 0.25});
  priced[1] = over_uplink(1.0, 1);
  priced[1].behind = {0};  // of the level between groups of replicas
  CHECK(seconds_together(priced)[0] == 1.0);
}

}  // namespace
}  // namespace pptrain
