#include "cost/two_level_sum.hpp"

#include "cost/collective.hpp"
#include "cost/instances.hpp"
#include "support/catch.hpp"

namespace pptrain {
namespace {

std::vector<DeviceId> devices(int first, int last) {
  std::vector<DeviceId> group;
  for (int d = first; d < last; ++d) group.emplace_back(d);
  return group;
}

/// One bucket, level after level.
double two_level_seconds(const Cluster& cluster, const std::vector<DeviceId>& group, double bytes) {
  return two_level_sum(cluster, group, bytes).seconds(1.0);
}

TEST_CASE("the hierarchical all-reduce passes the uplinks once per node", "[cost]") {
  const Cluster cluster = nodes_of(3, 4);  // links 1000 B/s, 0.5 s; uplinks 100 B/s, 1 s
  // On the nodes 2*3/4 * 800 / 1000 + 6 * 0.5 = 4.2, between them 2*2/3 * 800 / 100 + 4 * 1.
  CHECK(two_level_seconds(cluster, devices(0, 12), 800.0) == Approx(4.2 + 32.0 / 3 + 4.0));
  // Nodes 0 with two members and 1 with one: 2*1/2 * 0.8 + 1, and 2*1/2 * 8 + 2.
  CHECK(two_level_seconds(cluster, devices(2, 5), 800.0) == Approx(1.8 + 10.0));
}

TEST_CASE("a sum in two levels is the flat ring on one node and no slower on several", "[cost]") {
  for (const double bytes : {0.0, 1.0, 800.0, 1e6}) {
    CHECK(two_level_seconds(nodes_of(1, 8), devices(0, 8), bytes) ==
          all_reduce_seconds(nodes_of(1, 8), devices(0, 8), bytes));
    for (int nodes = 2; nodes <= 8; ++nodes) {
      for (int each = 1; each <= 8; ++each) {
        const Cluster cluster = nodes_of(nodes, each);
        const std::vector<DeviceId> all = devices(0, nodes * each);
        CHECK(two_level_seconds(cluster, all, bytes) <=
              all_reduce_seconds(cluster, all, bytes) * (1 + 1e-12));
      }
    }
  }
}

TEST_CASE("of several buckets one is within the nodes while another is across", "[cost]") {
  const TwoLevelSum sum = two_level_sum(nodes_of(3, 4), devices(0, 12), 800.0);
  CHECK(sum.nodes == 3);
  CHECK(sum.within == Approx(4.2));
  CHECK(sum.across == Approx(32.0 / 3 + 4.0));
  // The longer level goes on all the time, beside it all but one bucket of the other.
  CHECK(sum.seconds(4.0) == Approx(32.0 / 3 + 4.0 + 4.2 / 4));
  CHECK(TwoLevelSum{8.0, 2.0, 2}.seconds(4.0) == 8.5);
}

}  // namespace
}  // namespace pptrain
