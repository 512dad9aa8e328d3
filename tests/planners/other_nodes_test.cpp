#include "planners/other_nodes.hpp"

#include "cost/instances.hpp"
#include "planners/search.hpp"
#include "support/catch.hpp"

namespace pptrain {
namespace {

Profile four_layers() {
  Profile profile;
  for (int l = 0; l < 4; ++l) profile.layers.push_back(layer(fmt::format("{}", l), 1, 1, 1));
  return profile;
}

using Parts = std::vector<std::vector<int>>;

TEST_CASE("nodes with the fastest devices are added first", "[planners]") {
  Profile profile = four_layers();
  add_kind(profile, "t", 0.5);
  Cluster cluster = nodes_of(2, 2);
  add_slow_node(cluster, 2);
  CHECK(growing_parts({profile, cluster, 8}, 8) == Parts{{0, 1}, {1, 1}, {2, 1}});
}

TEST_CASE("many nodes are looked at in doubling numbers, each group once complete", "[planners]") {
  Profile profile = four_layers();
  add_kind(profile, "t", 2);
  Cluster cluster = nodes_of(10, 1);
  add_slow_node(cluster, 1);
  cluster.groups[1].count = 20;
  cluster.finish("made");
  CHECK(growing_parts({profile, cluster, 8}, 8) ==
        Parts{{1, 0}, {2, 0}, {4, 0}, {8, 0}, {10, 0}, {10, 10}, {10, 20}});
}

TEST_CASE("no part takes longer than fewer nodes, and one alone what its own plan takes",
          "[planners]") {
  Profile profile = four_layers();
  add_kind(profile, "t", 3);
  Cluster cluster = nodes_of(2, 2);
  add_slow_node(cluster, 2);
  const std::vector<OnFewerNodes> parts =
      plans_on_fewer_nodes("auto", {profile, cluster, 8}, Restrictions(), 7.5, Stop());
  REQUIRE(parts.size() == 3);
  const Cluster one = nodes_of(1, 2);
  const SearchResult alone = search_plan("auto", {profile, one, 8}, Restrictions(), "one");
  CHECK(*parts[0].iteration_seconds == Approx(alone.plan->predicted->iteration_seconds));
  CHECK(*parts[1].iteration_seconds <= *parts[0].iteration_seconds);
  CHECK(parts[1].num_devices == 4);
  CHECK(*parts[2].iteration_seconds == 7.5);
  CHECK(parts[2].num_devices == 6);
}

TEST_CASE("degrees that few nodes cannot have are said to be the reason", "[planners]") {
  const Profile profile = four_layers();
  const Cluster cluster = nodes_of(2, 1);
  Restrictions two_stages;
  two_stages.pipeline = 2;
  two_stages.data = 1;
  const std::vector<OnFewerNodes> parts =
      plans_on_fewer_nodes("amp", {profile, cluster, 8}, two_stages, 1.0, Stop());
  REQUIRE(parts.size() == 2);
  CHECK_FALSE(parts[0].iteration_seconds);
  CHECK(parts[0].why_not.find("does not multiply up to 1 device") != std::string::npos);
  CHECK(parts[1].iteration_seconds == 1.0);
}

}  // namespace
}  // namespace pptrain
