#include "planners/search.hpp"

#include <algorithm>

#include "cluster/read.hpp"
#include "config/read.hpp"
#include "cost/instances.hpp"
#include "planners/everything_free.hpp"
#include "planners/meshes/grid.hpp"
#include "support/catch.hpp"
#include "support/complaint.hpp"
#include "support/effort.hpp"
#include "support/files.hpp"

namespace pptrain {
namespace {

/// A chain of equal layers like a small GPT-2: parameters in the middle, activations of 1000 bytes.
Profile chain(int layers, int largest_degree = 4) {
  Profile profile;
  profile.model = "chain";
  for (int l = 0; l < layers; ++l) {
    ProfileLayer made = layer(fmt::format("layer.{}", l), 0.01, 0.01, 0.01);
    made.parameters = 100;
    made.output_bytes = 1000;
    made.stored_bytes = 5000;
    made.tensor_parallel_allreduce_bytes = 1000;
    profile.layers.push_back(made);
  }
  for (int n = 2; n <= largest_degree; n *= 2) add_degree(profile, n);
  return profile;
}

Cluster fast_nodes(int nodes, int devices, double memory = 1e9) {
  Cluster cluster = nodes_of(nodes, devices, memory);
  cluster.groups[0].link = {1e6, 1e-5};
  cluster.groups[0].uplink = {1e5, 1e-4};
  cluster.finish("made");
  return cluster;
}

const Alternative& alternative(const Plan& plan, const std::string& planner) {
  const auto found = std::find_if(plan.alternatives.begin(), plan.alternatives.end(),
                                  [&](const Alternative& a) { return a.planner == planner; });
  REQUIRE(found != plan.alternatives.end());
  return *found;
}

TEST_CASE("divisors are found in order", "[planners]") {
  CHECK(divisors(12) == std::vector<std::int64_t>{1, 2, 3, 4, 6, 12});
  CHECK(divisors(1) == std::vector<std::int64_t>{1});
  CHECK(divisors(49) == std::vector<std::int64_t>{1, 7, 49});
}

TEST_CASE("grids come in the order of ties and multiply up", "[planners]") {
  const std::vector<Grid> grids = grids_of(8, {});
  CHECK(grids.size() == 10);
  CHECK(std::is_sorted(grids.begin(), grids.end()));
  for (const Grid& grid : grids) CHECK(grid.pipeline * grid.data * grid.tensor == 8);
  Restrictions restrictions;
  restrictions.pipeline = 2;
  restrictions.tensor = 2;
  CHECK(grids_of(8, restrictions) == std::vector<Grid>{{2, 2, 2}});
}

TEST_CASE("amp examines every grid, micro-batch size and division", "[planners]") {
  const Profile profile = chain(6);
  const Cluster cluster = fast_nodes(2, 4);
  const Instance instance = {profile, cluster, 16};
  const SearchResult result = search_plan("amp", instance, {}, "x.toml");
  REQUIRE(result.plan.has_value());
  double least = std::numeric_limits<double>::infinity();
  for (const Grid& grid : grids_of(8, {})) {
    if (!why_not_in_space(grid, instance, {}).empty()) continue;
    for (const std::int64_t samples : samples_per_replica(grid, 16, {})) {
      for (int cut = 1; cut < 6; ++cut) {  // with more than two stages the even division is tried
                                           // only
        std::vector<Interval> layers = even_division(6, grid.pipeline);
        if (grid.pipeline == 2) layers = {{0, cut}, {cut, 6}};
        const Plan plan =
            uniform_plan(layers, grid.data, grid.tensor, 16, samples * grid.data, "1f1b");
        least = std::min(least, amp_terms(instance, plan).iteration_seconds);
      }
    }
  }
  CHECK(result.plan->predicted->estimates.at("amp") <= least * (1 + 1e-12));
  CHECK(result.plan->planner == "amp");
  CHECK(result.plan->model == "chain");
  CHECK(result.plan->cluster == "made");
  CHECK(result.plan->schedule.name == "1f1b");
  CHECK(result.plan->search_candidates > 20);
  CHECK(result.plan->search_seconds > 0.0);
  CHECK(result.grids.size() == grids_of(8, {}).size());
  validate_plan(*result.plan, 6, 8, "plan");
}

TEST_CASE("ties go to the first grid, micro-batch size and boundaries", "[planners]") {
  // No communication costs anything and every grid of one sample at a time keeps all devices busy.
  Profile profile;
  profile.layers = {layer("a", 0, 0, 0), layer("b", 0, 0, 0), layer("c", 0, 0, 0)};
  add_degree(profile, 2);
  Cluster cluster = nodes_of(1, 2);
  cluster.groups[0].link.latency = 0.0;
  cluster.finish("made");
  const SearchResult result = search_plan("amp", {profile, cluster, 4}, {}, "x");
  CHECK(result.plan->shape() == "PP 1 x DP 1 x TP 2");
  CHECK(result.plan->micro_batch_size == 1);
  Restrictions two_stages;
  two_stages.pipeline = 2;
  const SearchResult pipeline = search_plan("amp", {profile, cluster, 4}, two_stages, "x");
  CHECK(pipeline.plan->stages[0].layers == std::vector<Interval>{{0, 1}});
}

TEST_CASE("micro_batch_size counts the samples of all replicas", "[planners]") {
  const Profile profile = chain(4);
  const Cluster cluster = fast_nodes(1, 4);
  Restrictions restrictions;
  restrictions.data = 2;
  restrictions.micro_batch_size = 4;
  const SearchResult result = search_plan("amp", {profile, cluster, 16}, restrictions, "x");
  CHECK(result.plan->micro_batch_size == 4);
  CHECK(result.plan->micro_batches == 4);
  CHECK(result.plan->stages[0].samples == std::vector<Interval>{{0, 2}, {2, 4}});
}

TEST_CASE("degrees without rows on a kind of the cluster are no candidates", "[planners]") {
  Profile profile = chain(4, 1);
  add_kind(profile, "t", 2.0);
  Profile with_degree = profile;
  for (ProfileLayer& l : with_degree.layers) {  // degree 2 on v alone
    ProfileRow row = l.rows.front();
    row.tensor_parallel = 2;
    l.rows.push_back(row);
  }
  Cluster cluster = fast_nodes(1, 2);
  add_slow_node(cluster, 2, 1e9);
  for (const GridCandidate& grid : search_plan("amp", {with_degree, cluster, 4}, {}, "x").grids) {
    CHECK(grid.plan.has_value() == (grid.tensor == 1));
    if (grid.tensor == 2) CHECK(grid.why_not.find("degree 2 on t") != std::string::npos);
  }
}

TEST_CASE("megatron takes the smallest tmp x pp that fits", "[planners]") {
  const Profile profile = chain(6);
  const Instance roomy = {profile, fast_nodes(2, 4), 16};
  // All six layers fit a device: 6 * 1600 + in-flight * 6 * 5000 bytes.
  const SearchResult small = search_plan("megatron", roomy, {}, "x");
  CHECK(small.plan->shape() == "PP 1 x DP 8 x TP 1");
  // 6 * 1600 + 6 * 5000 = 39600 do not; three layers and two micro-batches in flight (34800) do.
  const Cluster tight = fast_nodes(2, 4, 39000);
  const SearchResult large = search_plan("megatron", {profile, tight, 16}, {}, "x");
  CHECK(large.plan->shape() == "PP 2 x DP 4 x TP 1");
  CHECK(large.plan->micro_batch_size == 4);
  CHECK_FALSE(alternative(*large.plan, "data-parallel").feasible);
  CHECK(alternative(*large.plan, "data-parallel").why_not.find("39.6 kB") == std::string::npos);
  CHECK(alternative(*large.plan, "data-parallel")
            .why_not.find("device 0 (v) needs 38.7 KiB of its 38.1 KiB") != std::string::npos);
}

TEST_CASE("megatron keeps tensor parallelism inside the smallest node", "[planners]") {
  const Profile profile = chain(2, 8);
  Cluster cluster = fast_nodes(1, 6);
  Profile mixed = profile;
  add_kind(mixed, "t", 1.0);
  add_degree(mixed, 2);
  for (ProfileLayer& l : mixed.layers) {  // add_degree gave v its second rows of degree 2
    std::sort(l.rows.begin(), l.rows.end(), [](const ProfileRow& a, const ProfileRow& b) {
      return std::tie(a.device, a.tensor_parallel) < std::tie(b.device, b.tensor_parallel);
    });
  }
  add_slow_node(cluster, 2, 1e9);
  for (const GridCandidate& grid : search_plan("megatron", {mixed, cluster, 8}, {}, "x").grids) {
    CHECK(grid.tensor <= 2);
  }
}

TEST_CASE("data parallelism needs a batch that the devices divide", "[planners]") {
  const Profile profile = chain(6);
  const Cluster cluster = fast_nodes(2, 4);
  const SearchResult result = search_plan("amp", {profile, cluster, 4}, {}, "x");
  REQUIRE(result.plan.has_value());
  const Alternative& other = alternative(*result.plan, "data-parallel");
  CHECK_FALSE(other.feasible);
  CHECK_FALSE(other.iteration_seconds.has_value());
  CHECK(other.why_not == "PP 1 x DP 8 x TP 1: 8 replicas do not divide the global batch of 4");
  const SearchResult alone = search_plan("data-parallel", {profile, cluster, 4}, {}, "x");
  CHECK_FALSE(alone.plan.has_value());
  CHECK(alone.why_not == other.why_not);
}

TEST_CASE("restrictions bind the other planners too", "[planners]") {
  const Profile profile = chain(6);
  const Cluster cluster = fast_nodes(2, 4);
  Restrictions restrictions;
  restrictions.pipeline = 2;
  const SearchResult result = search_plan("auto", {profile, cluster, 16}, restrictions, "x");
  for (const GridCandidate& grid : result.grids) CHECK(grid.pipeline == 2);
  CHECK(alternative(*result.plan, "data-parallel").why_not ==
        "the configuration asks for another grid");
  CHECK(alternative(*result.plan, "megatron").feasible);
}

TEST_CASE("recomputation and ZeRO that are asked for bind the planners over grids", "[planners]") {
  const Profile profile = chain(6);
  const Cluster cluster = fast_nodes(2, 4);
  const Instance instance = {profile, cluster, 16};
  for (const int zero_stage : {0, 1, 3}) {
    Restrictions restrictions;
    restrictions.data = 4;
    restrictions.recompute = Recompute::full;
    restrictions.zero_stage = zero_stage;
    for (const char* planner : {"amp", "megatron"}) {
      const Plan plan = *search_plan(planner, instance, restrictions, "x").plan;
      for (const Stage& stage : plan.stages) {
        CHECK(stage.recompute == Recompute::full);
        CHECK(stage.zero_stage == zero_stage);
      }
      CHECK(amp_terms(instance, plan).iteration_seconds == plan.predicted->estimate_seconds);
      CHECK(why_not_fit(instance, plan).empty());
    }
  }
}

TEST_CASE("planners over grids divide the state by node where that is asked for", "[planners]") {
  const Profile profile = chain(6);
  const Cluster cluster = fast_nodes(2, 4);
  const Instance instance = {profile, cluster, 16};
  Restrictions restrictions;
  restrictions.data = 8;
  restrictions.zero_stage = 3;
  restrictions.zero_group = ZeroGroup::node;
  for (const char* planner : {"auto", "amp", "megatron", "data-parallel"}) {
    const Plan plan = *search_plan(planner, instance, restrictions, "x").plan;
    CHECK(plan.stages[0].zero_groups == std::vector<Interval>{{0, 4}, {4, 8}});
    CHECK(amp_terms(instance, plan).iteration_seconds ==
          Approx(plan.predicted->estimates.at("amp")));
  }
  restrictions.places["zero_group"] = "x:7";
  CHECK(complaint_of([&] {
          search_plan("dapple", instance, restrictions, "x");
        }).starts_with("x:7: planner \"dapple\" with zero_group = \"node\""));
  restrictions.zero_stage = std::nullopt;  // stage 0 has no groups
  const Plan chosen = *search_plan("auto", instance, restrictions, "x").plan;
  for (const Stage& stage : chosen.stages) {
    CHECK(stage.zero_groups.empty() == (stage.zero_stage == 0));
  }
}

TEST_CASE("auto divides the state by node where that is faster", "[planners]") {
  const Profile profile = chain(6);
  const Cluster cluster = fast_nodes(2, 4);
  const Instance instance = {profile, cluster, 16};
  Restrictions restrictions = test::everything_free();
  restrictions.data = 8;
  restrictions.zero_stage = 3;
  const Plan free = *search_plan("auto", instance, restrictions, "x").plan;
  for (const ZeroGroup group : {ZeroGroup::replicas, ZeroGroup::node}) {
    restrictions.zero_group = group;
    const Plan set = *search_plan("auto", instance, restrictions, "x").plan;
    CHECK(set.stages[0].zero_groups.empty() == (group == ZeroGroup::replicas));
    CHECK(free.predicted->iteration_seconds <= set.predicted->iteration_seconds * (1.0 + 1e-9));
  }
  CHECK(free.stages[0].zero_groups == std::vector<Interval>{{0, 4}, {4, 8}});
}

TEST_CASE("gpipe is planned where it is asked for, with all micro-batches in flight",
          "[planners]") {
  const Profile profile = chain(4);
  const Cluster cluster = fast_nodes(1, 4);
  Restrictions restrictions;
  restrictions.schedule = "gpipe";
  restrictions.pipeline = 4;
  restrictions.micro_batch_size = 1;
  const SearchResult result = search_plan("amp", {profile, cluster, 8}, restrictions, "x");
  CHECK(result.plan->schedule.name == "gpipe");
  CHECK(result.plan->predicted->peak_bytes[3] == 1600.0 + 8 * 5000.0);
}

TEST_CASE("nothing fits: the grid that comes nearest is named with need and capacity",
          "[planners]") {
  const Profile profile = chain(4);
  const Cluster cluster = fast_nodes(1, 4, 5000);
  const SearchResult result = search_plan("auto", {profile, cluster, 8}, {}, "x");
  CHECK_FALSE(result.plan.has_value());
  // One layer per device, last stage one micro-batch of one sample: 1600 / tmp + 5000 at least;
  // with four stages the first one holds four micro-batches, with tmp 4 one stage holds 4 layers'
  // activations.
  CHECK(result.why_not.find("needs") != std::string::npos);
  CHECK(result.why_not.find("of its 4.88 KiB") != std::string::npos);
  for (const GridCandidate& grid : result.grids) {
    CHECK_FALSE(grid.plan.has_value());
    CHECK_FALSE(grid.why_not.empty());
  }
}

TEST_CASE("a number of devices that fits no grid is left to plans of other shapes", "[planners]") {
  const Profile profile = chain(4);
  const Cluster cluster = fast_nodes(1, 7);
  const SearchResult grids = search_plan("amp", {profile, cluster, 8}, {}, "x");
  CHECK_FALSE(grids.plan.has_value());
  CHECK(grids.why_not.find("7") != std::string::npos);
  const SearchResult result = search_plan("auto", {profile, cluster, 8}, {}, "x");
  REQUIRE(result.plan.has_value());
  validate_plan(*result.plan, 4, 7, "plan");
}

TEST_CASE("auto is never worse than the others, with shared cores and update times too",
          "[planners]") {
  for (const int cores : {0, 1, 2, 3}) {
    Profile profile = chain(6);
    for (ProfileLayer& l : profile.layers) {
      for (const int n : {1, 2, 4}) l.update_seconds[{"v", n}] = 0.02 / n;
    }
    Cluster cluster = fast_nodes(2, 4);
    cluster.groups[0].cores = cores;
    cluster.finish("made");
    const Instance instance = {profile, cluster, 16};
    const Plan best = *search_plan("auto", instance, {}, "x").plan;
    CHECK(best.planner == "auto");
    for (const char* other : {"amp", "megatron", "data-parallel"}) {
      const Plan plan = *search_plan(other, instance, {}, "x").plan;
      CHECK(best.predicted->iteration_seconds <= plan.predicted->iteration_seconds * (1 + 1e-12));
      CHECK(alternative(best, other).iteration_seconds == plan.predicted->iteration_seconds);
    }
    CHECK(best.predicted->lower_bound_seconds <= best.predicted->iteration_seconds);
  }
}

TEST_CASE("with shared cores auto prefers what computes and copies least", "[planners]") {
  const Profile profile = chain(8);
  Cluster cluster = fast_nodes(1, 8);
  cluster.groups[0].cores = 1;
  cluster.groups[0].link = {1e4, 0.0};  // copies are dear: 0.1 s per 1000 bytes
  cluster.finish("made");
  const Instance instance = {profile, cluster, 16};
  const Plan best = *search_plan("auto", instance, {}, "x").plan;
  const double copies = node_work_seconds(instance, best)[0] - 16 * 8 * 0.03;
  // One core computes for all, so that devices only add copies: one of them has none.
  CHECK(best.shape() == "PP 1 x DP 1 x TP 1");
  CHECK(copies == Approx(0.0));
  // Gradients over 8 replicas: 8 * 2*7/8 * 3200 bytes = 44800, 4.48 s. Any cut moves 16 * 2 * 1000
  // bytes, 3.2 s. Seven cuts 22.4 s, one cut and four replicas 3.2 + 2 * 4 * 2*3/4 * 1600 / 1e4
  // = 5.12 s.
  Restrictions all;
  all.data = 8;
  const Plan eight = *search_plan("auto", instance, all, "x").plan;
  CHECK(node_work_seconds(instance, eight)[0] - 16 * 8 * 0.03 == Approx(4.48));
}

TEST_CASE(
    "AMP's heterogeneous cluster is planned as in the paper: a pipeline over the slow uplinks",
    "[planners]") {
  // 24 equal blocks of 12.6 M parameters in fp32; a block's activation of 1024 x 1024 samples.
  Profile profile;
  profile.model = "gpt2-24";
  for (int l = 0; l < 24; ++l) {
    ProfileLayer block = layer(fmt::format("block.{}", l), 0.002, 0.002, 0.002, "v100");
    block.parameters = 12.6e6;
    block.output_bytes = 4.0 * 1024 * 1024;
    block.stored_bytes = 16 * block.output_bytes;
    block.tensor_parallel_allreduce_bytes = 2 * block.output_bytes;
    profile.layers.push_back(block);
  }
  add_kind(profile, "t4", 2.0);
  for (const int n : {2, 4}) add_degree(profile, n);
  const Cluster cluster = read_cluster(source_file("inputs/clusters/aws-heterogeneous.toml"));
  const SearchResult result = search_plan("amp", {profile, cluster, 32}, {}, "x");
  REQUIRE(result.plan.has_value());
  CHECK(result.plan->num_stages() >= 4);
  const Alternative& data_parallel = alternative(*result.plan, "data-parallel");
  CHECK(*data_parallel.iteration_seconds > 1.5 * result.plan->predicted->iteration_seconds);
  // The slower T4s at the end of the pipeline get fewer layers.
  CHECK(result.plan->stages.back().layers[0].size() < result.plan->stages.front().layers[0].size());
}

TEST_CASE("ten thousand devices cost a search no more than they may", "[planners]") {
  const Profile profile = chain(26, 8);
  const Cluster cluster = fast_nodes(1250, 8);
  SearchResult result;
  const double effort = test::effort_of([&] {
    result = search_plan("auto", {profile, cluster, 10000}, {}, "x");
  });
  REQUIRE(result.plan.has_value());
  CHECK(result.plan->num_devices() == 10000);
  CHECK(effort < 6000.0);
}

TEST_CASE("every planner can be named in a configuration", "[planners]") {
  for (const std::string& name : planner_names()) {
    const Config config = read_config(source_file("inputs/gpt2.toml"), {"planner.name=" + name});
    CHECK(config.planner.name == name);
  }
}

TEST_CASE("an unknown planner is refused with the nearest name", "[planners]") {
  const Profile profile = chain(2);
  const Cluster cluster = fast_nodes(1, 1);
  const std::string text = complaint_of([&] {
    search_plan("megatrom", {profile, cluster, 4}, {}, "x.toml");
  });
  CHECK(text.starts_with("x.toml: unknown planner \"megatrom\""));
  CHECK(text.find("did you mean \"megatron\"?") != std::string::npos);
}

}  // namespace
}  // namespace pptrain
