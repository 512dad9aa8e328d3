#include <random>

#include "cost/instances.hpp"
#include "planners/search.hpp"
#include "planners/uniform_search.hpp"
#include "support/catch.hpp"

namespace pptrain {
namespace {

/// Transformer blocks of a few hundred million parameters in fp16 on v100 and t4, at degrees 1 to 8: rows of 1, 2, 4,
/// 8 and 16 samples, in which the per-sample time falls with the samples. With `spread` above 0 the layers differ.
Profile blocks(int layers, double spread) {
  std::mt19937 random(7);
  std::uniform_real_distribution<double> real(1.0 - spread, 1.0 + spread);
  Profile profile;
  profile.model = "blocks";
  profile.bytes_per_parameter = {2.0, 2.0, 12.0};
  for (int l = 0; l < layers; ++l) {
    ProfileLayer made;
    made.name = fmt::format("block.{}", l);
    made.parameters = 50e6 * real(random);
    made.output_bytes = 4e6 * real(random);
    made.stored_bytes = 60e6 * real(random);
    made.tensor_parallel_allreduce_bytes = 8e6 * real(random);
    for (const auto& [kind, slowdown] : {std::pair{"v100", 1.0}, {"t4", 2.1}}) {
      const double seconds = 1.5e-3 * slowdown * real(random);
      for (const int n : {1, 2, 4, 8}) {
        for (const double samples : {1.0, 2.0, 4.0, 8.0, 16.0}) {
          const double forward = seconds * (0.2 + samples) / n + 2e-5;
          made.rows.push_back({kind, n, samples, {forward, forward, forward}, true});
        }
      }
    }
    profile.layers.push_back(std::move(made));
  }
  return profile;
}

/// The first half of the nodes v100 with NVLink, the rest t4.
Cluster mixed_nodes(int nodes, int devices) {
  Cluster cluster;
  cluster.name = "mixed";
  cluster.device_kinds = {{"v100", 16e9, {}, 0.0}, {"t4", 15e9, {}, 0.0}};
  for (const char* kind : {"v100", "t4"}) {
    NodeGroup group;
    group.kind = kind;
    group.device_kind = kind;
    group.count = nodes / 2;
    group.num_devices = devices;
    group.link = kind[0] == 'v' ? Link{150e9, 2e-6} : Link{8e9, 5e-6};
    group.uplink = kind[0] == 'v' ? Link{12e9, 1e-5} : Link{6e9, 2e-5};
    cluster.groups.push_back(group);
  }
  cluster.finish("made");
  return cluster;
}

struct Size {
  int layers;
  int nodes;
  int devices;
  std::int64_t batch;
  double seconds;  ///< that planning may take, far more than it does
};
constexpr Size sizes[] = {{26, 4, 4, 32, 0.2},      {26, 16, 16, 256, 1.0},      {100, 128, 8, 1024, 5.0},
                          {100, 128, 8, 2048, 5.0}, {100, 1280, 8, 10240, 30.0}, {100, 1280, 8, 16384, 30.0}};

TEST_CASE("large clusters are planned at once", "[planners]") {
  for (const Size& size : sizes) {
    for (const double spread : {0.0, 0.5}) {
      const Profile profile = blocks(size.layers, spread);
      const Cluster cluster = mixed_nodes(size.nodes, size.devices);
      const Instance instance = {profile, cluster, size.batch};
      const SearchResult megatron = search_plan("megatron", instance, {}, "x");
      const SearchResult amp = search_plan("amp", instance, {}, "x");
      INFO(size.layers << " layers, spread " << spread << ", " << size.nodes << " x " << size.devices << " devices");
      REQUIRE(amp.plan.has_value());
      CHECK(amp.complete);
      CHECK(amp.plan->search_seconds < size.seconds);
      CHECK(megatron.plan->search_seconds < size.seconds);
      CHECK(amp.plan->predicted->estimates.at("amp") <= megatron.plan->predicted->estimates.at("amp") * (1 + 1e-12));
      CHECK(amp.grids.front().plan->predicted->iteration_seconds == amp.plan->predicted->iteration_seconds);
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
