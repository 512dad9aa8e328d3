#include "config/read.hpp"
#include "cost/instances.hpp"
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
  return complaint_of([&] { search_plan("amp", {profile, cluster, batch}, restrictions, "x.toml"); });
}

TEST_CASE("a grid has to multiply up to the devices", "[planners]") {
  Restrictions r;
  r.data = 2;
  r.pipeline = 2;
  r.tensor = 2;
  CHECK(refused(r) ==
        "x.toml: data = 2, pipeline = 2, tensor = 2 does not multiply up to 16 devices (data x pipeline x "
        "tensor = 8); start 8 ranks, or set one of them to \"auto\"");
  r.tensor = {};
  r.pipeline = 3;
  r.places["data"] = "x.toml:7";
  CHECK(refused(r).starts_with("x.toml:7: data = 2, pipeline = 3 does not multiply up to 16 devices (6 is no divisor"));
}

TEST_CASE("stages, replicas and micro-batches have to match the model and the batch", "[planners]") {
  Restrictions stages;
  stages.pipeline = 8;
  CHECK(refused(stages).find("pipeline = 8 is more stages than layers (the model has 6 layers") != std::string::npos);
  Restrictions replicas;
  replicas.data = 8;
  CHECK(refused(replicas).find("data = 8 does not divide global_batch_size = 12") != std::string::npos);
  CHECK(refused(replicas).find("use 6 or 12") != std::string::npos);
  Restrictions micro_batch;
  micro_batch.micro_batch_size = 5;
  CHECK(refused(micro_batch).find("micro_batch_size = 5 does not divide global_batch_size = 12") != std::string::npos);
  CHECK(refused(micro_batch).find("use 4 or 6") != std::string::npos);
  Restrictions both;
  both.data = 4;
  both.micro_batch_size = 6;
  CHECK(refused(both).find("micro_batch_size = 6 is not divisible by data = 4") != std::string::npos);
  CHECK(refused(both).find("use a multiple of 4") != std::string::npos);
}

TEST_CASE("a tensor-parallel degree has to be in the profile", "[planners]") {
  Restrictions r;
  r.tensor = 4;
  CHECK(refused(r).find("tensor = 4 cannot be used") != std::string::npos);
  CHECK(refused(r).find("degrees that it has: 1, 2") != std::string::npos);
}

TEST_CASE("settings that only together leave nothing are refused with every reason", "[planners]") {
  Restrictions r;
  r.pipeline = 1;
  r.tensor = 1;  // leaves 16 replicas
  const std::string text = refused(r);
  CHECK(text.find("leave no grid of 16 devices") != std::string::npos);
  CHECK(text.find("pp 1 x dp 16 x tmp 1: 16 replicas do not divide the global batch of 12") != std::string::npos);
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
  CHECK(refused(schedule).find("virtual_stages = 2 with schedule \"zb-h1\" (it runs one chunk") != std::string::npos);
  schedule.schedule = "zb-v";
  schedule.virtual_stages = 3;
  CHECK(refused(schedule).find("a V visits each stage twice") != std::string::npos);
  schedule.schedule = "breadth-first";
  schedule.virtual_stages = 100;
  CHECK(refused(schedule).find("virtual_stages = 100 is more chunks than layers") != std::string::npos);
  schedule.virtual_stages = 1;
  schedule.unit = 2;
  CHECK(refused(schedule).find("unit = 2 with schedule \"breadth-first\"") != std::string::npos);
  schedule.unit = 0;
}

TEST_CASE("restrictions come from the configuration with their lines", "[planners]") {
  const Config config = parse_config(
      "[training]\nglobal_batch_size = 8\nmicro_batch_size = 4\n[data]\ntrain = \"x\"\n[parallelism]\ndata = 2\n"
      "schedule = \"gpipe\"\n",
      "c.toml", ".");
  const Restrictions r = restrictions_of(config);
  CHECK(r.data == 2);
  CHECK_FALSE(r.pipeline.has_value());
  CHECK(r.micro_batch_size == 4);
  CHECK(r.schedule == "gpipe");
  CHECK(r.places.at("data") == "c.toml:7");
}

}  // namespace
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
  CHECK(complaint_of([&] { search_plan("amp", instance, restrictions, "x"); }).find("does not multiply up") !=
        std::string::npos);
  const SearchResult result = search_plan("auto", instance, restrictions, "x");
  REQUIRE(result.plan.has_value());
  CHECK(result.plan->num_stages() == 2);
  CHECK(search_plan("exhaustive", instance, restrictions, "x").plan->num_devices() == 3);
  restrictions.data = 2;
  CHECK(complaint_of([&] { search_plan("auto", instance, restrictions, "x"); }).find("needs 4 devices") !=
        std::string::npos);
}

}  // namespace pptrain
