#include "planners/ask/restrictions.hpp"

#include "config/read.hpp"
#include "cost/instances.hpp"
#include "planners/everything_free.hpp"
#include "planners/meshes/grid.hpp"
#include "planners/search.hpp"
#include "support/catch.hpp"
#include "support/complaint.hpp"

namespace pptrain {
namespace {

Profile six_layers() {
  Profile profile;
  for (int l = 0; l < 6; ++l) profile.layers.push_back(layer(fmt::format("{}", l), 1, 1, 1));
  add_degree(profile, 2);
  return profile;
}

std::string refused(const Restrictions& restrictions, std::int64_t batch = 12) {
  const Profile profile = six_layers();
  const Cluster cluster = nodes_of(4, 4);
  return complaint_of([&] {
    search_plan("amp", {profile, cluster, batch}, restrictions, "x.toml");
  });
}

TEST_CASE("a grid has to multiply up to the devices", "[planners]") {
  Restrictions r;
  r.data = 2;
  r.pipeline = 2;
  r.tensor = 2;
  CHECK(refused(r) ==
        "x.toml: data = 2, pipeline = 2, tensor = 2 does not multiply up to 16 devices (data x "
        "pipeline x "
        "tensor = 8); start 8 ranks, or set one of them to \"auto\"");
  r.tensor = {};
  r.pipeline = 3;
  r.places["data"] = "x.toml:7";
  CHECK(refused(r).starts_with(
      "x.toml:7: data = 2, pipeline = 3 does not multiply up to 16 devices (6 is no divisor "
      "of 16); use data = 2, pipeline = 4, the nearest that do"));
}

TEST_CASE("degrees have to find their devices", "[planners]") {
  const Profile profile = six_layers();
  const Cluster cluster = nodes_of(1, 4);
  Restrictions r;
  const auto complaint = [&] {
    return complaint_of([&] { search_plan("auto", {profile, cluster, 12}, r, "x.toml"); });
  };
  r.pipeline = 5;
  CHECK(complaint() == "x.toml: pipeline = 5 needs 5 devices (the cluster has 4); use at most 4");
  r.data = 2;
  CHECK(complaint() ==
        "x.toml: data = 2, pipeline = 5 need 10 devices (the cluster has 4); set one of them to "
        "\"auto\"");
}

TEST_CASE("degrees that leave auto no plan are refused with the nearest ones", "[planners]") {
  const Profile profile = six_layers();
  const Cluster cluster = nodes_of(6, 8);
  Restrictions restrictions = test::everything_free();
  restrictions.data = 7;
  restrictions.pipeline = 5;
  restrictions.places["data"] = "x.toml:7";
  CHECK(complaint_of([&] {
          search_plan("auto", {profile, cluster, 14}, restrictions, "x");
        }) ==
        "x.toml:7: no plan was found with data = 7, pipeline = 5 (it takes 35 devices or a "
        "multiple, which is no "
        "divisor of 48); use data = 8, pipeline = 6, the nearest that divide them, or set one of "
        "them to \"auto\"");
}

TEST_CASE("stages, replicas and micro-batches have to match the model and the batch",
          "[planners]") {
  Restrictions stages;
  stages.pipeline = 8;
  CHECK(refused(stages).find("pipeline = 8 is more stages than layers (the model has 6 layers") !=
        std::string::npos);
  Restrictions replicas;
  replicas.data = 16;
  CHECK(refused(replicas).find("data = 16 replicas cannot share 12 samples") != std::string::npos);
  CHECK(refused(replicas).find("use at most 12") != std::string::npos);
  Restrictions micro_batch;
  micro_batch.micro_batch_size = 5;
  CHECK(refused(micro_batch).find("micro_batch_size = 5 does not divide global_batch_size = 12") !=
        std::string::npos);
  CHECK(refused(micro_batch).find("use 4 or 6") != std::string::npos);
  Restrictions both;
  both.data = 4;
  both.micro_batch_size = 3;
  CHECK(refused(both).find("data = 4 replicas cannot share 3 samples") != std::string::npos);
}

/// Samples of each replica of a stage.
std::vector<std::int64_t> shares_of(const Stage& stage) {
  std::vector<std::int64_t> shares;
  for (const Interval& own : stage.samples) shares.push_back(own.size());
  return shares;
}

TEST_CASE("replicas that cannot share a micro-batch evenly share it nearly so, by every schedule",
          "[planners]") {
  const Profile profile = six_layers();
  const Cluster cluster = nodes_of(2, 4);
  const Instance instance = {profile, cluster, 6};
  Restrictions r;
  r.data = 4;
  for (const std::string& schedule : schedule_names()) {
    r.schedule = schedule;
    for (const char* planner :
         {"auto", "amp", "megatron", "amp-uniform-layers", "random", "amp-sa"}) {
      if (std::string(planner) != "auto" && runs_chunks(schedule)) continue;
      INFO(schedule << ", " << planner);
      const SearchResult result = search_plan(planner, instance, r, "x.toml");
      REQUIRE(result.plan.has_value());
      CHECK_NOTHROW(validate_plan(*result.plan, 6, 8, "made"));
      for (const Stage& stage : result.plan->stages) {
        REQUIRE(stage.replicas == 4);
        if (schedule != "1f1b" && schedule != "gpipe" && schedule != "auto") {
          CHECK(shares_of(stage) == std::vector<std::int64_t>{2, 2, 1, 1});
        }
      }
    }
  }
  r.schedule = "zb-h1";
  r.micro_batch_size = 3;
  CHECK(complaint_of([&] {
          search_plan("auto", instance, r, "x.toml");
        }).find("data = 4 replicas cannot share 3 samples") != std::string::npos);
}

TEST_CASE("devices that no even grid has are used by schedules of grids", "[planners]") {
  const Profile profile = six_layers();
  const Cluster cluster = nodes_of(1, 7);
  const Instance instance = {profile, cluster, 8};
  CHECK_FALSE(search_plan("data-parallel", instance, {}, "x").plan.has_value());
  Restrictions r;
  r.schedule = "zb-h1";
  const SearchResult any = search_plan("auto", instance, r, "x");
  REQUIRE(any.plan.has_value());
  CHECK(any.plan->num_devices() >= 6);
  r.pipeline = 1;
  r.data = 7;
  const SearchResult result = search_plan("auto", instance, r, "x");
  REQUIRE(result.plan.has_value());
  CHECK(shares_of(result.plan->stages[0]) == std::vector<std::int64_t>{2, 1, 1, 1, 1, 1, 1});
}

TEST_CASE("the largest micro-batch of so many samples on a replica is taken", "[planners]") {
  const Grid grid = {1, 4, 1};
  Restrictions r;
  CHECK(samples_per_replica(grid, 30, r).empty());
  r.uneven_shares = true;  // 30 is 5, 6, 10, 15 or 30 samples at a time
  CHECK(samples_per_replica(grid, 30, r) == std::vector<std::int64_t>{2, 3, 4, 8});
  CHECK(micro_batch_of(grid, 2, 30, r) == 6);
  CHECK(micro_batch_of(grid, 8, 30, r) == 30);
  r.micro_batch_size = 5;
  CHECK(samples_per_replica(grid, 30, r) == std::vector<std::int64_t>{2});
  CHECK(micro_batch_of(grid, 2, 30, r) == 5);
}

TEST_CASE("a time of a grid with uneven shares is that of the replica with most", "[planners]") {
  const Profile profile = six_layers();
  const Cluster cluster = nodes_of(1, 4);
  const Instance instance = {profile, cluster, 6};
  Restrictions r;
  r.data = 4;
  r.schedule = "zb-h1";
  const Plan plan = *search_plan("amp", instance, r, "x.toml").plan;
  CHECK(plan.micro_batch_size == 6);
  CHECK(plan.predicted->stage_seconds.front() == Approx(6 * 3 * 2.0));  // six layers, F, B and W of
                                                                        // two samples
}

TEST_CASE("a tensor-parallel degree has to be in the profile", "[planners]") {
  Restrictions r;
  r.tensor = 4;
  CHECK(refused(r).find("tensor = 4 cannot be used") != std::string::npos);
  CHECK(refused(r).find("degrees that it has for 16 devices: 1, 2") != std::string::npos);
}

TEST_CASE("settings that only together leave nothing are refused with every reason", "[planners]") {
  Restrictions r;
  r.pipeline = 1;
  r.tensor = 1;  // leaves 16 replicas
  const std::string text = refused(r);
  CHECK(text.find("leave no grid of 16 devices") != std::string::npos);
  CHECK(text.find("PP 1 x DP 16 x TP 1: 16 replicas cannot share 12 samples") != std::string::npos);
}

TEST_CASE("degrees, batches and schedules out of range are refused", "[planners]") {
  Restrictions r;
  r.data = 0;
  CHECK(refused(r).find("data = 0 (it must be at least 1)") != std::string::npos);
  CHECK(refused({}, 0).find("a global batch of 0 samples") != std::string::npos);
  Restrictions schedule;
  schedule.schedule = "1f2b";
  CHECK(refused(schedule).find("did you mean \"1f1b\"?") != std::string::npos);
  schedule.schedule = "zb-h1";
  schedule.virtual_stages = 2;
  CHECK(refused(schedule).find("virtual_stages = 2 with schedule \"zb-h1\" (it runs one chunk") !=
        std::string::npos);
  schedule.schedule = "zb-v";
  schedule.virtual_stages = 3;
  CHECK(refused(schedule).find("a V visits each stage twice") != std::string::npos);
  schedule.schedule = "breadth-first";
  schedule.virtual_stages = 100;
  CHECK(refused(schedule).find("virtual_stages = 100 is more chunks than layers") !=
        std::string::npos);
  schedule.virtual_stages = 1;
  schedule.unit = 2;
  CHECK(refused(schedule).find("unit = 2 with schedule \"breadth-first\"") != std::string::npos);
  schedule.unit = 0;
}

TEST_CASE("restrictions come from the configuration with their lines", "[planners]") {
  const Config config = parse_config(
      "[training]\nglobal_batch_size = 8\nmicro_batch_size = 4\n[data]\ntrain = "
      "\"x\"\n[parallelism]\ndata = 2\n"
      "schedule = \"gpipe\"\n",
      "c.toml", ".");
  const Restrictions r = restrictions_of(config);
  CHECK(r.data == 2);
  CHECK_FALSE(r.pipeline.has_value());
  CHECK(r.micro_batch_size == 4);
  CHECK(r.schedule == "gpipe");
  CHECK(r.places.at("data") == "c.toml:7");
}

TEST_CASE("replicas and micro-batches count the shares of samples that are divided", "[planners]") {
  Config config;
  config.parallelism.context = 2;
  config.parallelism.data = 3;
  config.training.micro_batch_size = 4;
  const Restrictions r = restrictions_of(config);
  CHECK(r.context == 2);
  CHECK(r.data == 6);
  CHECK(r.micro_batch_size == 8);
}

TEST_CASE("a key without a place of its own has that of the source", "[planners]") {
  Restrictions r;
  r.places = {{"data", "x.toml:7"}, {"tensor", ""}};
  CHECK(r.place_of("data", "x.toml") == "x.toml:7");
  CHECK(r.place_of("tensor", "x.toml") == "x.toml");
  CHECK(r.place_of("pipeline", "x.toml") == "x.toml");
}

TEST_CASE("planners of papers leave free nothing that papers lack, and change nothing fixed",
          "[planners]") {
  const Restrictions papers = as_in_papers(test::everything_free());
  CHECK(papers.recompute == Recompute::none);
  CHECK(papers.zero_stage == 0);
  CHECK(papers.zero_group == ZeroGroup::replicas);
  CHECK(papers.virtual_stages == 1);
  CHECK(papers.offload == AutoFlag(false));
  CHECK(papers.offload_activations == AutoFlag(false));
  CHECK(papers.experts == Experts::columns);
  Restrictions fixed;
  fixed.recompute = Recompute::full;
  fixed.zero_stage = 3;
  fixed.zero_group = ZeroGroup::node;
  fixed.virtual_stages = 2;
  fixed.offload = fixed.offload_activations = true;
  fixed.experts = Experts::sent;
  const Restrictions kept = as_in_papers(fixed);
  CHECK(kept.recompute == Recompute::full);
  CHECK(kept.zero_stage == 3);
  CHECK(kept.zero_group == ZeroGroup::node);
  CHECK(kept.virtual_stages == 2);
  CHECK(kept.offload == AutoFlag(true));
  CHECK(kept.offload_activations == AutoFlag(true));
  CHECK(kept.experts == Experts::sent);
}

TEST_CASE("a schedule that nobody names is 1f1b, of several chunks the interleaved one",
          "[planners]") {
  Restrictions r;
  CHECK(schedule_under(r) == ScheduleChoice{"1f1b", 1, 0});
  r.virtual_stages = 3;
  CHECK(schedule_under(r) == ScheduleChoice{"interleaved-1f1b", 3, 0});
  r.virtual_stages = std::nullopt;
  r.schedule = "gpipe";
  CHECK(schedule_under(r) == ScheduleChoice{"gpipe", 1, 0});
  r.schedule = "zb-v";  // whose stages have two chunks in any case
  CHECK(schedule_under(r) == ScheduleChoice{"zb-v", 2, 0});
  r.schedule = "zeropp";
  r.virtual_stages = 3;
  r.unit = 4;
  CHECK(schedule_under(r) == ScheduleChoice{"zeropp", 3, 4});
}

TEST_CASE("schedules of several chunks and those of grids alone are known", "[planners]") {
  for (const char* name : {"interleaved-1f1b", "breadth-first", "zb-v", "zeropp"})
    CHECK(runs_chunks(name));
  for (const char* name : {"1f1b", "gpipe", "zb-h1", "auto"}) CHECK_FALSE(runs_chunks(name));
  Restrictions r;
  CHECK_FALSE(plans_only_grids("1f1b", r));
  CHECK_FALSE(plans_only_grids("gpipe", r));
  CHECK(plans_only_grids("zb-h1", r));
  r.uniform = true;
  CHECK(plans_only_grids("1f1b", r));
  r.uniform = false;
  r.zero_group = ZeroGroup::node;
  CHECK(plans_only_grids("1f1b", r));
}

TEST_CASE("what no grid can be is left to planners of other shapes", "[planners]") {
  const Profile profile = [] {
    Profile p;
    p.layers = {layer("a", 1, 1, 1), layer("b", 1, 1, 1)};
    return p;
  }();
  const Cluster cluster = nodes_of(1, 3);
  Restrictions restrictions;
  restrictions.pipeline = 2;
  const Instance instance = {profile, cluster, 8};
  CHECK(complaint_of([&] {
          search_plan("amp", instance, restrictions, "x");
        }).find("does not multiply up") != std::string::npos);
  const SearchResult result = search_plan("auto", instance, restrictions, "x");
  REQUIRE(result.plan.has_value());
  CHECK(result.plan->num_stages() == 2);
  CHECK(search_plan("exhaustive", instance, restrictions, "x").plan->num_devices() == 3);
  restrictions.data = 2;
  CHECK(complaint_of([&] {
          search_plan("auto", instance, restrictions, "x");
        }).find("need 4 devices") != std::string::npos);
}

}  // namespace
}  // namespace pptrain
