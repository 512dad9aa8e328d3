// The plans of DAPPLE's tables V and VII (Fan et al., PPoPP 2021) beside ours, from its published
// profiles: by the same formula ours are never slower, whatever micro-batch size theirs take.
// docs/papers.md has the figures.
#include <algorithm>
#include <limits>

#include "cluster/read.hpp"
#include "planners/meshes/grid.hpp"
#include "planners/meshes/placement.hpp"
#include "planners/search.hpp"
#include "support/catch.hpp"
#include "support/files.hpp"

namespace pptrain {
namespace {

Profile profile_of(const std::string& model) {
  return read_profile(source_file("inputs/profiles/") + model + ".json");
}

Cluster configuration(const std::string& letter) {
  return read_cluster(source_file("inputs/clusters/dapple-") + letter + ".toml");
}

/// A stage of a published plan, on devices in order.
struct PublishedStage {
  int replicas = 0;
  int end = 0;  ///< behind its last layer in our profile
};

struct PublishedPlan {
  std::string model;
  std::string configuration;
  std::int64_t batch = 0;
  std::vector<PublishedStage> stages;
};

Plan plan_of(const PublishedPlan& published, std::int64_t micro_batch) {
  Plan plan;
  plan.global_batch_size = published.batch;
  plan.micro_batch_size = micro_batch;
  plan.micro_batches = published.batch / micro_batch;
  int device = 0;
  std::int64_t layer = 0;
  for (const PublishedStage& published_stage : published.stages) {
    Stage stage;
    stage.layers = {{layer, published_stage.end}};
    stage.replicas = published_stage.replicas;
    for (int j = 0; j < stage.replicas; ++j) stage.devices.push_back({DeviceId(device++)});
    stage.samples = even_division(micro_batch, stage.replicas);
    layer = published_stage.end;
    plan.stages.push_back(std::move(stage));
  }
  return plan;
}

/// The least `dapple` estimate of the plan with any micro-batch size with which it fits; infinite
/// where none does.
double seconds_of(const PublishedPlan& published, const Instance& instance) {
  double least = std::numeric_limits<double>::infinity();
  for (const std::int64_t micro_batch : divisors(published.batch)) {
    const auto lacks = [&](const PublishedStage& stage) { return stage.replicas > micro_batch; };
    if (std::any_of(published.stages.begin(), published.stages.end(), lacks)) continue;
    const Plan plan = plan_of(published, micro_batch);
    validate_plan(plan, instance.profile.num_layers(), instance.cluster.num_devices(), "published");
    if (why_not_fit(instance, plan).empty())
      least = std::min(least, dapple_seconds(instance, plan));
  }
  return least;
}

Plan our_plan(const Instance& instance, const Restrictions& restrictions = {}) {
  const SearchResult result = search_plan("dapple", instance, restrictions, "published");
  INFO(result.why_not);
  REQUIRE(result.plan.has_value());
  return *result.plan;
}

/// Splits count layers of the paper; `end` is behind the same layer of our profile.
const std::vector<PublishedPlan>& published_plans() {
  static const std::vector<PublishedPlan> plans = {
      // Table V. VGG-19 on C: 13:6 as printed, and between convolutions and classifier as its text
      // says.
      {"resnet50", "a", 2048, {{16, 38}}},
      {"resnet50", "b", 2048, {{16, 38}}},
      {"resnet50", "c", 2048, {{16, 38}}},
      {"vgg-19", "a", 2048, {{16, 25}}},
      {"vgg-19", "b", 2048, {{16, 25}}},
      {"vgg-19", "c", 2048, {{15, 17}, {1, 25}}},
      {"vgg-19", "c", 2048, {{15, 21}, {1, 25}}},
      {"gnmt-16", "a", 1024, {{8, 18}, {8, 33}}},
      {"gnmt-16", "b", 1024, {{8, 18}, {8, 33}}},
      {"bert-48", "a", 64, {{8, 26}, {8, 52}}},
      {"xlnet-36", "a", 128, {{8, 22}, {8, 41}}},
      {"xlnet-36", "b", 128, {{8, 22}, {8, 41}}},
      {"amoeba-36", "a", 128, {{8, 28}, {8, 43}}},
      {"amoeba-36", "b", 128, {{11, 32}, {5, 43}}},
      {"amoeba-36", "c", 128, {{11, 32}, {5, 43}}},
      // Table VII, DAPPLE's and PipeDream's.
      {"vgg-19", "a", 1024, {{14, 16}, {2, 25}}},
      {"vgg-19", "a", 1024, {{8, 10}, {6, 16}, {1, 18}, {1, 25}}},
      {"amoeba-36", "a", 128, {{8, 30}, {8, 43}}},
      {"bert-24", "a", 128, {{8, 16}, {8, 28}}},
      {"bert-24", "a", 128, {{2, 6}, {6, 15}, {2, 18}, {2, 21}, {2, 24}, {2, 28}}},
  };
  return plans;
}

TEST_CASE("our plans are not slower than those that DAPPLE published", "[published]") {
  for (const PublishedPlan& published : published_plans()) {
    CAPTURE(published.model, published.configuration, published.batch);
    const Profile profile = profile_of(published.model);
    const Cluster cluster = configuration(published.configuration);
    const Instance instance = {profile, cluster, published.batch};
    const Plan ours = our_plan(instance);
    CAPTURE(write_plan(ours));
    CHECK(ours.predicted->estimate_seconds <= seconds_of(published, instance) * (1.0 + 1e-12));
  }
}

TEST_CASE("our plans are not slower than any straight pipeline, as DAPPLE published some",
          "[published]") {
  Restrictions straight;
  straight.data = 1;
  for (const auto& [model, letter, batch] : {std::tuple{"gnmt-16", "c", 1024},
                                             {"bert-48", "b", 64},
                                             {"bert-48", "c", 64},
                                             {"xlnet-36", "c", 128},
                                             {"xlnet-36", "a", 128},
                                             {"amoeba-36", "a", 128}}) {
    CAPTURE(model, letter);
    const Profile profile = profile_of(model);
    const Cluster cluster = configuration(letter);
    const Instance instance = {profile, cluster, batch};
    const double ours = our_plan(instance).predicted->estimate_seconds;
    const SearchResult best = search_plan("dapple", instance, straight, "published");
    if (best.plan) CHECK(ours <= best.plan->predicted->estimate_seconds * (1.0 + 1e-12));
  }
}

TEST_CASE("DAPPLE's patterns come out: a stage on each server of configuration A", "[published]") {
  for (const auto& [model, batch] :
       {std::pair{"bert-48", 64}, {"xlnet-36", 128}, {"amoeba-36", 128}}) {
    CAPTURE(model);
    const Profile profile = profile_of(model);
    const Cluster cluster = configuration("a");
    const Plan plan = our_plan({profile, cluster, batch});
    CHECK(plan.shape() == "PP 2 x DP 8 x TP 1");
    for (int i = 0; i < plan.num_stages(); ++i) {
      for (const auto& row : plan.stages[i].devices) CHECK(cluster.node_of(row[0]) == i);
    }
  }
}

TEST_CASE("DAPPLE's patterns come out: BERT-48 straight where every server has one device",
          "[published]") {
  for (const std::string letter : {"b", "c"}) {
    CAPTURE(letter);
    const Profile profile = profile_of("bert-48");
    const Cluster cluster = configuration(letter);
    CHECK(our_plan({profile, cluster, 64}).shape() == "PP 16 x DP 1 x TP 1");
  }
}

TEST_CASE("DAPPLE's patterns come out: data parallelism for ResNet-50, none for AmoebaNet-36",
          "[published]") {
  for (const std::string letter : {"a", "b", "c"}) {
    CAPTURE(letter);
    const Profile resnet = profile_of("resnet50");
    const Profile amoeba = profile_of("amoeba-36");
    const Cluster cluster = configuration(letter);
    CHECK(our_plan({resnet, cluster, 2048}).shape() == "PP 1 x DP 16 x TP 1");
    CHECK_FALSE(
        search_plan("data-parallel", {amoeba, cluster, 128}, {}, "published").plan.has_value());
  }
}

}  // namespace
}  // namespace pptrain
