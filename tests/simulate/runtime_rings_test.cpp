#include "simulate/runtime_rings.hpp"

#include "cluster/read.hpp"
#include "support/catch.hpp"

namespace pptrain {
namespace {

/// Two nodes of four devices: 100 B/s within, 40 B/s between.
Cluster two_nodes() {
  return parse_cluster(
      "[[device]]\nkind = \"d\"\nmemory = \"1 GB\"\n[[node]]\nkind = \"n\"\ncount = 2\n"
      "devices = { kind = \"d\", count = 4 }\nlink = { bandwidth = \"100 B/s\" }\nuplink = { "
      "bandwidth = \"40 B/s\" "
      "}\n",
      "c");
}

std::vector<DeviceId> devices(const std::vector<int>& numbers) {
  std::vector<DeviceId> made;
  for (const int number : numbers) made.emplace_back(number);
  return made;
}

/// A runtime that reaches all of a link, with `change` of it.
template <class Change>
double ring_seconds(const std::vector<int>& group, double bytes, const Change& change) {
  const Cluster cluster = two_nodes();
  Profile profile;
  profile.communication.half_bytes = 1e-9;
  change(profile.communication);
  const Instance instance = {profile, cluster, 1};
  return RuntimeRing(instance, devices(group)).all_reduce_seconds(bytes);
}

const auto nothing = [](Communication&) {};

TEST_CASE("a ring of a runtime takes its part of the slowest link", "[rings]") {
  CHECK(ring_seconds({0}, 400, nothing) == 0.0);
  CHECK(ring_seconds({0, 1, 2, 3}, 400, nothing) == Approx(2.0 * 3 / 4 * 400 / 100));
  CHECK(ring_seconds({0, 1, 2, 3}, 400, [](Communication& c) { c.link_share = 0.5; }) ==
        Approx(12.0));
  CHECK(ring_seconds({0, 1, 2, 3}, 400, [](Communication& c) { c.half_bytes = 400; }) ==
        Approx(12.0));
  CHECK(ring_seconds({0, 1, 2, 3}, 400, [](Communication& c) { c.start_seconds = 1; }) ==
        Approx(7.0));
  // The links of a device lead to three neighbours, and two devices have a third of them.
  CHECK(ring_seconds({0, 1}, 400, [](Communication& c) { c.link_neighbours["d"] = 3; }) ==
        Approx(12.0));
  CHECK(ring_seconds({0, 1, 2, 3}, 400, [](Communication& c) { c.link_neighbours["d"] = 3; }) ==
        Approx(6.0));
}

TEST_CASE("groups on the same nodes share their uplinks", "[rings]") {
  const auto shares = [](Communication& c) { c.shares_uplinks = true; };
  CHECK(ring_seconds({0, 4}, 400, nothing) == Approx(10.0));
  CHECK(ring_seconds({0, 4}, 400, shares) == Approx(40.0));  // one of four on each node
  CHECK(ring_seconds({0, 1, 4, 5}, 400, shares) == Approx(2.0 * 3 / 4 * 400 / 20));
  CHECK(ring_seconds({0, 1, 2, 3, 4, 5, 6, 7}, 400, shares) == Approx(2.0 * 7 / 8 * 400 / 40));
}

TEST_CASE("sums that are hidden leave the last layer's, and slow what hides them", "[rings]") {
  Communication runtime;
  CHECK(seconds_left(runtime, 8.0, 100.0, 4) == 8.0);  // pptrain's own are simulated as they are
  runtime.half_bytes = 1.0;
  CHECK(seconds_left(runtime, 8.0, 100.0, 4) == 2.0);
  CHECK(seconds_left(runtime, 8.0, 4.0, 4) == 5.0);
  runtime.beside = 0.5;
  CHECK(seconds_left(runtime, 8.0, 100.0, 4) == 5.0);
  runtime.hides_sums = false;
  CHECK(seconds_left(runtime, 8.0, 100.0, 4) == 8.0);
}

}  // namespace
}  // namespace pptrain
