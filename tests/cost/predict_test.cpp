#include <numeric>
#include <random>

#include "cost/instances.hpp"
#include "support/catch.hpp"

namespace pptrain {
namespace {

Profile two_layers() {
  Profile profile;
  profile.layers = {layer("a", 1, 1, 1), layer("b", 2, 2, 2)};
  profile.layers[0].output_bytes = 50;
  profile.layers[0].parameters = 25;
  profile.layers[1].parameters = 25;
  return profile;
}

TEST_CASE("without update times and shared cores the iteration is AMP's estimate", "[cost]") {
  const Profile profile = two_layers();
  const Cluster cluster = nodes_of(2, 2);
  const Instance instance = {profile, cluster, 8};
  const Plan plan = uniform_plan({{0, 1}, {1, 2}}, 2, 1, 8, 2, "1f1b");
  const Prediction prediction = predict(instance, plan);
  const double amp = amp_terms(instance, plan).iteration_seconds;
  CHECK(prediction.iteration_seconds == amp);
  CHECK(prediction.estimates.at("amp") == amp);
  CHECK(prediction.estimates.at("dapple") == dapple_seconds(instance, plan));
  CHECK(prediction.estimate_seconds == amp);
  CHECK(prediction.peak_bytes == memory_bytes(instance, plan));
  // 4 micro-batches of one sample per replica: busy 4 * 3 on two devices, 4 * 6 on two others.
  CHECK(prediction.bubble_fraction == Approx(1.0 - 72.0 / (4 * amp)));
  CHECK(prediction.lower_bound_seconds <= amp);
}

TEST_CASE("the longest optimizer step is added", "[cost]") {
  Profile profile = two_layers();
  profile.layers[0].update_seconds[{"v", 1}] = 0.5;
  profile.layers[1].update_seconds[{"v", 1}] = 0.75;
  const Cluster cluster = nodes_of(2, 2);
  const Instance instance = {profile, cluster, 8};
  Plan plan = uniform_plan({{0, 1}, {1, 2}}, 2, 1, 8, 2, "1f1b");
  Prediction prediction = predict(instance, plan);
  CHECK(prediction.iteration_seconds == Approx(prediction.estimates.at("amp") + 0.75));
  CHECK(device_work_seconds(instance, plan) == std::vector<double>{12.5, 12.5, 24.75, 24.75});
  plan.stages[1].zero_stage = 1;  // 0.75 / 2 replicas is less than stage 0's 0.5
  prediction = predict(instance, plan);
  CHECK(prediction.iteration_seconds == Approx(prediction.estimates.at("amp") + 0.5));
}

TEST_CASE("where devices share cores the node's work and copies take at least its cores",
          "[cost]") {
  const Profile profile = two_layers();
  Cluster cluster = nodes_of(1, 4);
  cluster.groups[0].cores = 2;
  cluster.finish("made");
  const Instance instance = {profile, cluster, 8};
  const Plan plan = uniform_plan({{0, 1}, {1, 2}}, 2, 1, 8, 2, "1f1b");
  // Computation 2 * 12 + 2 * 24 = 72. Bytes: gradients 4 devices * 2*1/2 * 100 = 400; the cut 4
  // micro-batches
  // * 50 bytes * 2 replicas * 2 directions = 800. Copies at 1000 B/s: 1.2. Messages: 4 devices * 2
  // of the gradients, 4 micro-batches * 2 replicas * 2 directions = 16, 4 devices * 2 sums * 3 of
  // loss and norm, each 0.5 s
  // * 2 cores / (4 devices / 2): 24.
  CHECK(node_work_seconds(instance, plan)[0] == Approx(72.0 + 1.2 + 24.0));
  const Prediction prediction = predict(instance, plan);
  // AMP: 3 * 6 + 2 * (0.05 + 0.5) + 9 + (0.1 + 1) = 29.2, less than 97.2 / 2
  CHECK(prediction.estimates.at("amp") == Approx(29.2));
  CHECK(prediction.iteration_seconds == Approx(48.6));
  CHECK(prediction.bubble_fraction == Approx(1.0 - 72.0 / (4 * 48.6)));
  cluster.groups[0].cores = 4;  // one each: nothing is shared, nothing is counted for copies
  cluster.finish("made");
  CHECK(node_work_seconds(instance, plan)[0] == Approx(72.0));
  CHECK(predict(instance, plan).iteration_seconds == Approx(29.2));
}

TEST_CASE("nodes of a pool share its cores", "[cost]") {
  const Profile profile = two_layers();
  Cluster cluster = nodes_of(4, 1);
  cluster.groups[0].cores = 2;
  const Plan plan = uniform_plan({{0, 1}, {1, 2}}, 2, 1, 8, 2, "1f1b");
  // AMP: 3 * 6 + 2 * (0.5 + 1) + 9 + (1 + 2) = 33; two cores are enough for a node of one device.
  cluster.finish("made");
  CHECK(predict({profile, cluster, 8}, plan).iteration_seconds == Approx(33.0));
  cluster.groups[0].core_pool = "host";
  cluster.finish("made");
  const Instance instance = {profile, cluster, 8};
  // Computation 72; 48 messages as above, each 1 s * 2 cores / (4 devices / 2).
  const std::vector<double> work = node_work_seconds(instance, plan);
  CHECK(std::accumulate(work.begin(), work.end(), 0.0) == Approx(72.0 + 48.0));
  CHECK(core_limit_seconds(instance, plan) == Approx(60.0));
  CHECK(predict(instance, plan).iteration_seconds == Approx(60.0));
}

TEST_CASE("tensor-parallel all-reduces are copies too", "[cost]") {
  Profile profile = two_layers();
  profile.layers[1].tensor_parallel_allreduce_bytes = 30;
  add_degree(profile, 2);
  Cluster cluster = nodes_of(1, 2);
  cluster.groups[0].cores = 1;
  cluster.finish("made");
  const Instance instance = {profile, cluster, 8};
  const Plan plan = uniform_plan({{0, 2}}, 1, 2, 8, 4, "1f1b");
  // 8 samples * 9 s; 2 devices * 2 passes * (2*1/2 * 30 bytes * 8 samples) = 960 bytes;
  // 2 devices * 2 micro-batches * 2 messages of one all-reduce and of the loss, 2 devices * 2 sums
  // of one message, each 0.5 s * 1 core / (2 devices / 2).
  CHECK(node_work_seconds(instance, plan)[0] == Approx(72.0 + 0.96 + 8.0 + 2.0));
}

TEST_CASE("the lower bound spreads the work over all devices", "[cost]") {
  Profile profile = two_layers();
  const Cluster cluster = nodes_of(1, 4);
  CHECK(lower_bound_seconds({profile, cluster, 8}) == Approx(8 * 9.0 / 4));
  CHECK(lower_bound_seconds({profile, cluster, 1}) == Approx(6.0));  // F and B of one sample: 1 + 1
                                                                     // + 2 + 2
  // A kind three times as slow: one v and one t do 1 + 1/3 of a v's work.
  add_kind(profile, "t", 3.0);
  Cluster mixed = nodes_of(1, 1);
  add_slow_node(mixed, 1);
  CHECK(lower_bound_seconds({profile, mixed, 8}) == Approx(8 * 9.0 / (4.0 / 3.0)));
}

TEST_CASE("the lower bound gives each kind the layers it is good at", "[cost]") {
  Profile profile;
  profile.layers = {layer("a", 1, 0, 0), layer("b", 4, 0, 0)};
  add_kind(profile, "t", 1.0);
  profile.layers[0].rows[1].seconds.forward = 4;
  profile.layers[1].rows[1].seconds.forward = 1;
  Cluster mixed = nodes_of(1, 1);
  add_slow_node(mixed, 1);
  // a on v and b on t: one second each per sample
  CHECK(lower_bound_seconds({profile, mixed, 8}) == Approx(8.0).epsilon(1e-3));
  CHECK(lower_bound_seconds({profile, mixed, 8}) <= 8.0);
}

/// Random stages, degrees, samples and devices: nothing of auto's space may beat the bound.
TEST_CASE("no plan beats the lower bound", "[cost]") {
  std::mt19937 random(7);
  const auto pick = [&](int low, int high) {
    return std::uniform_int_distribution<int>(low, high)(random);
  };
  const auto seconds = [&] { return std::uniform_real_distribution<double>(0.0, 1.0)(random); };
  for (int trial = 0; trial < 500; ++trial) {
    Profile profile;
    for (int l = 0; l < 4; ++l) {
      profile.layers.push_back(layer(fmt::format("{}", l), seconds(), seconds(), seconds()));
      profile.layers.back().rows.clear();
      for (const char* kind : {"v", "t"}) {
        for (const int degree : {1, 2}) {
          for (const double samples : {1.0, 2.0, 4.0}) {
            profile.layers.back().rows.push_back(
                {kind, degree, samples, {seconds(), seconds(), seconds()}, true});
          }
        }
      }
    }
    Cluster cluster = nodes_of(1, pick(1, 4));
    add_slow_node(cluster, pick(1, 4));
    const int devices = cluster.num_devices();
    const int first = pick(1, devices - 1);
    Plan plan = uniform_plan({{0, 2}, {2, 4}}, 1, 1, 12, 6, "1f1b");
    int next = 0;
    for (Stage& stage : plan.stages) {
      const int available = &stage == &plan.stages[0] ? first : devices - first;
      stage.tensor_parallel = available >= 2 ? pick(1, 2) : 1;
      stage.replicas = available / stage.tensor_parallel;
      if (stage.replicas > 6) stage.replicas = 6;
      stage.devices.clear();
      for (int j = 0; j < stage.replicas; ++j) {
        stage.devices.emplace_back();
        for (int k = 0; k < stage.tensor_parallel; ++k) stage.devices.back().emplace_back(next++);
      }
      stage.samples = even_division(6, stage.replicas);
    }
    validate_plan(plan, 4, devices, "made");
    const Prediction prediction = predict({profile, cluster, 12}, plan);
    REQUIRE(prediction.lower_bound_seconds <= prediction.iteration_seconds);
    REQUIRE(prediction.lower_bound_seconds <= prediction.estimates.at("amp"));
    REQUIRE(prediction.lower_bound_seconds > 0.0);
  }
}

}  // namespace
}  // namespace pptrain
