#include "planners/grids/uniform_search.hpp"
#include "planners/large_instances.hpp"
#include "planners/search.hpp"
#include "support/catch.hpp"
#include "support/effort.hpp"

namespace pptrain {
namespace {

struct Size {
  int layers;
  int nodes;
  int devices;
  std::int64_t batch;
  double effort;  ///< that planning may take, several times what it does
};
constexpr Size sizes[] = {{26, 4, 4, 32, 2},       {26, 16, 16, 256, 5},       {100, 128, 8, 1024, 20},
                          {100, 128, 8, 2048, 20}, {100, 1280, 8, 10240, 200}, {100, 1280, 8, 16384, 200}};

TEST_CASE("large clusters are planned at once", "[planners]") {
  for (const Size& size : sizes) {
    for (const double spread : {0.0, 0.5}) {
      const Profile profile = blocks(size.layers, spread);
      const Cluster cluster = mixed_nodes(size.nodes, size.devices);
      const Instance instance = {profile, cluster, size.batch};
      SearchResult megatron;
      SearchResult amp;
      const double megatron_effort = test::effort_of([&] { megatron = search_plan("megatron", instance, {}, "x"); });
      const double amp_effort = test::effort_of([&] { amp = search_plan("amp", instance, {}, "x"); });
      INFO(size.layers << " layers, spread " << spread << ", " << size.nodes << " x " << size.devices << " devices");
      REQUIRE(amp.plan.has_value());
      CHECK(amp.complete);
      CHECK(amp_effort < size.effort);
      CHECK(megatron_effort < size.effort);
      CHECK(amp.plan->predicted->estimates.at("amp") <= megatron.plan->predicted->estimates.at("amp") * (1 + 1e-12));
      CHECK(amp.grids.front().plan->predicted->estimates == amp.plan->predicted->estimates);
    }
  }
}

TEST_CASE("bounds leave out only what is slower", "[planners]") {
  for (const double spread : {0.0, 0.7}) {
    const Profile profile = blocks(26, spread);
    const Cluster cluster = mixed_nodes(16, 16);
    const Instance instance = {profile, cluster, 256};
    const Restrictions restrictions;
    const SearchSpace space = {instance, restrictions};
    const UniformCandidates all = amp_candidates(space, Breadth::everything);
    for (const Breadth breadth : {Breadth::best, Breadth::table}) {
      const UniformCandidates some = amp_candidates(space, breadth);
      CHECK(some.found.size() < all.found.size());
      CHECK(some.num_examined == all.num_examined);
      const UniformCandidate& best = *best_candidate(all.found);
      CHECK(best_candidate(some.found)->grid == best.grid);
      CHECK(best_candidate(some.found)->samples == best.samples);
      CHECK(best_candidate(some.found)->division.layers == best.division.layers);
    }
  }
}

TEST_CASE("a search that is stopped at once has a plan all the same", "[planners]") {
  const Profile profile = blocks(100, 0.5);
  const Cluster cluster = mixed_nodes(1280, 8);
  const SearchResult result = search_plan("amp", {profile, cluster, 10240}, {}, "x", Stop(1e-9));
  REQUIRE(result.plan.has_value());
  CHECK_FALSE(result.complete);
  validate_plan(*result.plan, 100, 10240, "plan");
}

}  // namespace
}  // namespace pptrain
