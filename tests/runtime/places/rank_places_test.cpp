#include "runtime/places/rank_places.hpp"

#include <nlohmann/json.hpp>

#include "comm/mpi.hpp"
#include "support/catch.hpp"

using namespace pptrain;

namespace {

/// Two nodes with two kinds of devices, two each.
Cluster two_kinds() {
  Cluster cluster;
  cluster.name = "test";
  for (const char* name : {"fast", "slow"}) {
    cluster.device_kinds.push_back({name, 1e9, {{"fp32", 1e12}}, 1e10});
    NodeGroup group;
    group.device_kind = name;
    group.num_devices = 2;
    group.link = group.uplink = {1e9, 1e-6};
    cluster.groups.push_back(group);
  }
  cluster.finish("made");
  return cluster;
}

Plan three_devices() {
  Plan plan = uniform_plan({{0, 3}}, 3, 1, 6, 6, "1f1b");
  plan.stages[0].devices = {{DeviceId(0)}, {DeviceId(2)}, {DeviceId(3)}};
  return plan;
}

}  // namespace

TEST_CASE("rank 0 knows the place of every rank", "[np4]") {
  // Devices are driven in the opposite order.
  const RankMap map({RankId(3), RankId(2), RankId(1), RankId(0)});
  Waiter waiter(600.0, CoreUse::shared);
  const std::vector<RankPlace> places = rank_places(MPI_COMM_WORLD, waiter, map, three_devices());
  if (rank_in(MPI_COMM_WORLD) != 0) {
    CHECK(places.empty());
    return;
  }
  REQUIRE(places.size() == 4);
  CHECK(places[0].device == DeviceId(3));
  CHECK(places[0].role->replica == 2);
  CHECK_FALSE(places[2].role.has_value());
  CHECK(places[3].role->replica == 0);
  const auto json = nlohmann::json::parse(places_to_json(places, two_kinds()));
  REQUIRE(json.size() == 4);
  CHECK(json[0].at("kind") == "slow");
  CHECK(json[0].at("replica") == 2);
  CHECK_FALSE(json[2].contains("stage"));
}

TEST_CASE("ranks that follow one another take one line", "[np4]") {
  const Cluster cluster = two_kinds();
  std::vector<RankPlace> places = {{"a", DeviceId(0), Role{StageId(0), 0, 0}},
                                   {"a", DeviceId(1), std::nullopt},
                                   {"b", DeviceId(2), Role{StageId(0), 1, 0}},
                                   {"b", DeviceId(3), Role{StageId(0), 2, 0}}};
  CHECK(describe_places(places, cluster) ==
        "ranks\n"
        "  rank  host  device      stage  replica  shard\n"
        "  0     a     0 (fast)    0      0        0\n"
        "  1     a     1 (fast)    idle\n"
        "  2-3   b     2-3 (slow)  0      1-2      0\n");
}

TEST_CASE("ranks that are bound to sockets say which") {
  const Cluster cluster = two_kinds();
  const std::vector<RankPlace> places = {{"a", DeviceId(0), Role{StageId(0), 0, 0}, 0},
                                         {"a", DeviceId(1), Role{StageId(0), 1, 0}, 1},
                                         {"b", DeviceId(2), Role{StageId(0), 2, 0}},
                                         {"b", DeviceId(3), Role{StageId(0), 3, 0}}};
  CHECK(describe_places(places, cluster) ==
        "ranks\n"
        "  rank  host  socket  device      stage  replica  shard\n"
        "  0     a     0       0 (fast)    0      0        0\n"
        "  1     a     1       1 (fast)    0      1        0\n"
        "  2-3   b     any     2-3 (slow)  0      2-3      0\n");
  const auto json = nlohmann::json::parse(places_to_json(places, cluster));
  CHECK(json[1].at("socket") == 1);
  CHECK_FALSE(json[2].contains("socket"));
}
