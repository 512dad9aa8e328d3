#include "cost/instances.hpp"
#include "planners/ask/layer_tables.hpp"
#include "planners/large_instances.hpp"
#include "planners/published/amp/uniform_search.hpp"
#include "planners/search.hpp"
#include "support/catch.hpp"
#include "support/complaint.hpp"
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
constexpr Size sizes[] = {{26, 4, 4, 32, 2},          {26, 16, 16, 256, 5},
                          {100, 128, 8, 1024, 20},    {100, 128, 8, 2048, 20},
                          {100, 1280, 8, 10240, 200}, {100, 1280, 8, 16384, 200}};

TEST_CASE("large clusters are planned at once", "[planners]") {
  for (const Size& size : sizes) {
    for (const double spread : {0.0, 0.5}) {
      const Profile profile = blocks(size.layers, spread);
      const Cluster cluster = mixed_nodes(size.nodes, size.devices);
      const Instance instance = {profile, cluster, size.batch};
      SearchResult megatron;
      SearchResult amp;
      const double megatron_effort =
          test::effort_of([&] { megatron = search_plan("megatron", instance, {}, "x"); });
      const double amp_effort =
          test::effort_of([&] { amp = search_plan("amp", instance, {}, "x"); });
      INFO(size.layers << " layers, spread " << spread << ", " << size.nodes << " x "
                       << size.devices << " devices");
      REQUIRE(amp.plan.has_value());
      CHECK(amp.complete);
      CHECK(amp_effort < size.effort);
      CHECK(megatron_effort < size.effort);
      CHECK(amp.plan->predicted->estimates.at("amp") <=
            megatron.plan->predicted->estimates.at("amp") * (1 + 1e-12));
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

/// Planners that no number of devices, layers or samples keeps from making a plan.
const std::vector<std::string> always = {"auto",          "amp",    "amp-sa", "megatron",
                                         "data-parallel", "random", "all",    "amp-uniform-layers"};

namespace {

/// Whether a planner of this name is there and tabulates layers; "uniform" and "all" are other
/// planners' names.
bool tabulates_layers(const std::string& name) {
  const std::vector<const Planner*>& all = planners();
  return std::any_of(all.begin(), all.end(), [&](const Planner* planner) {
    return planner->name() == name && planner->tabulates_layers();
  });
}

}  // namespace

TEST_CASE("every search of very many layers ends at its limit", "[planners]") {
  Profile profile;
  for (int l = 0; l < 30000; ++l) {
    profile.layers.push_back(layer(fmt::format("{}", l), 1e-3 * (1 + l % 5), 1e-3, 1e-3));
    profile.layers.back().parameters = 100.0 + l % 11;
    profile.layers.back().output_bytes = profile.layers.back().stored_bytes = 10.0;
  }
  add_degree(profile, 2);
  const Cluster cluster = nodes_of(2, 4, 1e12);
  const Instance instance = {profile, cluster, 16};
  // What a search cannot do without: to cost and to simulate some plans.
  const double costing = test::effort_of([&] {
    for (int i = 0; i < 20; ++i) {
      const Plan plan = uniform_plan(even_division(30000, 8), 1, 1, 16, 1, "1f1b");
      CHECK(predict(instance, plan).iteration_seconds > 0.0);
    }
  });
  for (const std::string& planner : planner_names()) {
    if (planner == "exhaustive" || tabulates_layers(planner)) continue;  // refuse so many layers
    INFO(planner);
    SearchResult result;
    const double effort =
        test::effort_of([&] { result = search_plan(planner, instance, {}, "x", Stop(1e-3)); });
    CHECK(effort < 3.0 * costing);
    if (std::find(always.begin(), always.end(), planner) == always.end()) continue;
    REQUIRE(result.plan.has_value());
    validate_plan(*result.plan, 30000, 8, "found");
    CHECK(why_not_fit(instance, *result.plan).empty());
  }
}

TEST_CASE("planners with a table of every run of layers leave very many layers to others",
          "[planners]") {
  Profile profile;
  for (int l = 0; l < 4097; ++l) profile.layers.push_back(layer(fmt::format("{}", l), 1, 1, 1));
  const Cluster cluster = nodes_of(1, 2, 1e12);
  for (const char* planner : {"dapple", "pipedream", "alpa"}) {
    const Instance instance = {profile, cluster, 4};
    const std::string complaint = complaint_of([&] { search_plan(planner, instance, {}, "x"); });
    CHECK_THAT(complaint,
               Catch::StartsWith(fmt::format("x: planner \"{}\" with 4097 layers", planner)) &&
                   Catch::Contains("4096 at most") && Catch::Contains("use planner \"auto\""));
    const Restrictions restrictions;
    CHECK_FALSE(planner_called(planner).search({instance, restrictions}).why_not.empty());  // as
                                                                                            // auto
                                                                                            // asks
                                                                                            // it
  }
}

}  // namespace
}  // namespace pptrain
