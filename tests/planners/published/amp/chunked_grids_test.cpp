// Grids whose schedule the configuration fixes, with one or several chunks per stage.
#include <algorithm>

#include "cost/instances.hpp"
#include "planners/search.hpp"
#include "schedule/schedule.hpp"
#include "support/catch.hpp"
#include "support/complaint.hpp"

namespace pptrain {
namespace {

/// Eight layers, the last four as slow as the first four together.
Profile eight_layers() {
  Profile profile;
  for (int l = 0; l < 8; ++l) {
    const double seconds = l < 4 ? 1.0 : 4.0;
    profile.layers.push_back(layer(fmt::format("{}", l), seconds, seconds, 1));
  }
  return profile;
}

SearchResult search(const std::string& planner, const Restrictions& restrictions) {
  static const Profile profile = eight_layers();
  static const Cluster cluster = nodes_of(2, 2);
  return search_plan(planner, {profile, cluster, 8}, restrictions, "x.toml");
}

Restrictions fixed(const std::string& schedule, int virtual_stages, AutoInt pipeline) {
  Restrictions restrictions;
  restrictions.schedule = schedule;
  restrictions.virtual_stages = virtual_stages;
  restrictions.pipeline = pipeline;
  return restrictions;
}

/// The slowest chunk; layers 4 to 7 take four times as long as the others.
std::int64_t slowest(const Plan& plan) {
  std::int64_t most = 0;
  for (const ChunkPlace& chunk : chunk_places(plan)) {
    std::int64_t weight = 0;
    for (std::int64_t l = chunk.layers.begin; l < chunk.layers.end; ++l) weight += l < 4 ? 1 : 4;
    most = std::max(most, weight);
  }
  return most;
}

TEST_CASE("chunks lie as the schedule has them and are balanced", "[planners]") {
  for (const char* schedule : {"interleaved-1f1b", "breadth-first", "zb-v", "zeropp"}) {
    INFO(schedule);
    const SearchResult result = search("auto", fixed(schedule, 2, 2));
    REQUIRE(result.plan);
    validate_plan(*result.plan, 8, 4, "the plan");  // the layout too
    CHECK(result.plan->schedule.name == schedule);
    CHECK(result.plan->schedule.virtual_stages == 2);
    CHECK(result.plan->num_stages() == 2);
    CHECK(slowest(*result.plan) == 8);  // of 20 in four chunks; 4 is too little for any division
    CHECK(task_orders(*result.plan).size() == 2);
    CHECK(result.plan->alternatives.size() == 2);
  }
}

TEST_CASE("a schedule with one chunk per stage is searched as amp does", "[planners]") {
  for (const char* schedule : {"dapple-b", "zb-h1", "zb-h2"}) {
    const SearchResult result = search("amp", fixed(schedule, 1, 4));
    REQUIRE(result.plan);
    CHECK(result.plan->schedule.name == schedule);
    CHECK(result.plan->num_stages() == 4);
    CHECK(result.plan->predicted->estimates ==
          search("amp", fixed("1f1b", 1, 4)).plan->predicted->estimates);
  }
}

TEST_CASE("several chunks and no schedule are interleaved; the unit of zeropp is kept",
          "[planners]") {
  CHECK(search("megatron", fixed("auto", 4, 2)).plan->schedule.name == "interleaved-1f1b");
  CHECK(search("auto", fixed("zb-v", 1, 4)).plan->schedule.virtual_stages == 2);
  Restrictions unit = fixed("zeropp", 2, {});
  unit.unit = 3;
  const SearchResult result = search("auto", unit);
  CHECK(result.plan->schedule.unit == 3);
  CHECK(result.grids.size() == 6);  // of four devices
  CHECK(std::count_if(result.grids.begin(), result.grids.end(),
                      [](const GridCandidate& g) { return g.plan; }) == 3);
}

TEST_CASE("planners of other shapes know 1f1b and gpipe only", "[planners]") {
  CHECK(complaint_of([] { search("dapple", fixed("zb-v", 2, {})); }) ==
        "x.toml: planner \"dapple\" with schedule \"zb-v\" (it makes plans for 1f1b and gpipe); "
        "use planner \"auto\" or "
        "\"amp\", or another schedule");
}

}  // namespace
}  // namespace pptrain
