#include "planners/published/amp/exhaustive.hpp"

#include <functional>
#include <limits>
#include <numeric>

#include "cost/instances.hpp"
#include "planners/search.hpp"
#include "support/catch.hpp"
#include "support/complaint.hpp"

using namespace pptrain;

namespace {

/// Nodes of one device each with kinds "v" and "t" in turn, all links different.
Cluster uneven_nodes(int devices, double memory) {
  Cluster cluster;
  cluster.name = "uneven";
  cluster.device_kinds = {{"v", memory, {}, 0.0}, {"t", 0.7 * memory, {}, 0.0}};
  for (int d = 0; d < devices; ++d) {
    NodeGroup group;
    group.kind = fmt::format("node{}", d);
    group.device_kind = d % 2 == 0 ? "v" : "t";
    group.uplink = {50.0 + 30.0 * d, 0.1 * d};
    cluster.groups.push_back(group);
  }
  cluster.finish("uneven");
  return cluster;
}

Profile uneven_chain(int layers) {
  Profile profile;
  profile.model = "chain";
  for (int l = 0; l < layers; ++l) {
    profile.layers.push_back(layer(fmt::format("l{}", l), 1.0 + l % 3, 1.5, 0.5 * (l % 2)));
    profile.layers.back().parameters = 5.0 * (layers - l);
    profile.layers.back().output_bytes = 20.0 + 10.0 * (l % 4);
    profile.layers.back().stored_bytes = 40.0;
    profile.layers.back().tensor_parallel_allreduce_bytes = 4.0;
  }
  add_kind(profile, "t", 1.6);
  add_degree(profile, 2);
  return profile;
}

/// All plans one after another, costed as plans: the plain twin.
double least_of_all(const Instance& instance) {
  const int num_devices = instance.cluster.num_devices();
  const int num_layers = instance.profile.num_layers();
  double least = std::numeric_limits<double>::infinity();
  std::vector<int> order(num_devices);
  std::iota(order.begin(), order.end(), 0);
  do {
    Plan plan;
    plan.global_batch_size = instance.global_batch_size;
    plan.schedule.name = "1f1b";
    const std::function<void(int, int)> add_stage = [&](int layer_begin, int device_begin) {
      if (layer_begin == num_layers && device_begin == num_devices) {
        for (std::int64_t b = 1; b <= instance.global_batch_size; ++b) {
          if (instance.global_batch_size % b != 0) continue;
          plan.micro_batch_size = b;
          plan.micro_batches = instance.global_batch_size / b;
          bool enough = true;
          for (Stage& stage : plan.stages) {
            enough = enough && b >= stage.replicas;
            if (enough) stage.samples = even_division(b, stage.replicas);
          }
          if (enough && why_not_fit(instance, plan).empty()) {
            least = std::min(least, amp_terms(instance, plan).iteration_seconds);
          }
        }
        return;
      }
      for (int layer_end = layer_begin + 1; layer_end <= num_layers; ++layer_end) {
        for (int device_end = device_begin + 1; device_end <= num_devices; ++device_end) {
          for (int n = 1; n <= 2; ++n) {
            if ((device_end - device_begin) % n != 0) continue;
            Stage stage;
            stage.layers = {{layer_begin, layer_end}};
            stage.tensor_parallel = n;
            stage.replicas = (device_end - device_begin) / n;
            for (int j = 0; j < stage.replicas; ++j) {
              stage.devices.emplace_back();
              for (int k = 0; k < n; ++k)
                stage.devices[j].emplace_back(order[device_begin + j * n + k]);
            }
            plan.stages.push_back(stage);
            add_stage(layer_end, device_end);
            plan.stages.pop_back();
          }
        }
      }
    };
    add_stage(0, 0);
  } while (std::next_permutation(order.begin(), order.end()));
  return least;
}

}  // namespace

TEST_CASE("exhaustive finds the least of all plans costed one by one", "[planners]") {
  for (const double memory : {1e6, 900.0}) {
    for (const int layers : {2, 4}) {
      const Profile profile = uneven_chain(layers);
      const Cluster cluster = uneven_nodes(3, memory);
      const Instance instance = {profile, cluster, 4};
      const double least = least_of_all(instance);
      const SearchResult result = search_plan("exhaustive", instance, {}, "x");
      REQUIRE(result.plan.has_value() == (least < std::numeric_limits<double>::infinity()));
      if (result.plan)
        CHECK(result.plan->predicted->estimates.at("amp") == Approx(least).epsilon(1e-12));
    }
  }
}

TEST_CASE("exhaustive takes equal devices for one another", "[planners]") {
  const Profile profile = uneven_chain(3);
  Cluster cluster = nodes_of(2, 2);
  add_slow_node(cluster, 1);
  const Instance instance = {profile, cluster, 4};
  const SearchResult result = search_plan("exhaustive", instance, {}, "x");
  REQUIRE(result.plan.has_value());
  CHECK(result.plan->predicted->estimates.at("amp") ==
        Approx(least_of_all(instance)).epsilon(1e-12));
  CHECK(result.plan->num_devices() == 5);
}

TEST_CASE("exhaustive refuses what is too large, with the count", "[planners]") {
  const Profile profile = uneven_chain(30);
  const Cluster cluster = nodes_of(4, 4);
  const std::string text = complaint_of([&] {
    search_plan("exhaustive", {profile, cluster, 32}, {}, "x");
  });
  CHECK(text.find("plans are too many") != std::string::npos);
  const Profile small = uneven_chain(5);
  const Restrictions none;
  const Cluster four = uneven_nodes(4, 1e6);
  // 4! device sequences, 4 micro-batch sizes, and for s stages C(4, s-1) divisions of the layers
  // times the ways to cut 4 devices into s meshes: 3, 8, 6, 1.
  CHECK(count_exhaustive_plans({{small, four, 8}, none}) ==
        24.0 * 4.0 * (3.0 + 4 * 8.0 + 6 * 6.0 + 4 * 1.0));
}

TEST_CASE("exhaustive of six unequal devices ends soon", "[planners]") {
  const Profile profile = uneven_chain(10);
  const Cluster cluster = uneven_nodes(6, 4000.0);
  const SearchResult result = search_plan("exhaustive", {profile, cluster, 8}, {}, "x");
  REQUIRE(result.plan.has_value());
  INFO(result.plan->search_seconds);
  CHECK(result.plan->search_seconds < 20.0);
}
