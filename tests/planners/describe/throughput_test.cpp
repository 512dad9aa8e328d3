#include "planners/describe/throughput.hpp"

#include <numeric>

#include "cluster/reserve.hpp"
#include "config/read.hpp"
#include "cost/instances.hpp"
#include "model/model.hpp"
#include "planners/judge/planned_orders.hpp"
#include "profile/analytic.hpp"
#include "profile/graded.hpp"
#include "simulate/simulate.hpp"
#include "support/catch.hpp"

namespace pptrain {
namespace {

/// Four layers of a second per pass and sample on "v", two on "t"; 1, 2, 3 and 4 million
/// parameters.
Profile four_layers() {
  Profile profile;
  for (int l = 0; l < 4; ++l) {
    profile.layers.push_back(layer(fmt::format("{}", l), 1, 1, 1));
    profile.layers.back().parameters = 1e6 * (l + 1);
  }
  profile.model = "made";
  add_kind(profile, "t", 2.0);
  add_degree(profile, 2);
  return profile;
}

/// Two devices "v" of 1,000 and two devices "t" of 500 FLOP per second in fp32.
Cluster two_kinds() {
  Cluster cluster = nodes_of(1, 2, 1e12);
  add_slow_node(cluster, 2, 1e12);
  cluster.device_kinds[0].flops["fp32"] = 1000.0;
  cluster.device_kinds[1].flops["fp32"] = 500.0;
  set_reserve(cluster.device_kinds[0], 5e11);
  return cluster;
}

/// 10, 20, 30 and 40 FLOP of the layers per sample of 8 tokens.
ModelWork work() { return {{10, 20, 30, 40}, "layers", 8.0, "fp32"}; }

/// The plan as the simulator predicts it.
Plan predicted(const Instance& instance, Plan plan) {
  plan.predicted = predict(instance, plan);
  const Simulation simulation = simulate(instance, plan, planned_programs(instance, plan));
  plan.predicted->basis = PredictionBasis::simulation;
  plan.predicted->iteration_seconds = simulation.makespan_seconds;
  return plan;
}

/// Layers 0-1 on the devices "v", layers 2-3 on the devices "t".
Plan both_kinds() { return uniform_plan({{0, 2}, {2, 4}}, 2, 1, 8, 2, "1f1b"); }

TEST_CASE("throughput and model FLOP follow from batch, iteration and devices",
          "[planners][throughput]") {
  const Profile profile = four_layers();
  const Cluster cluster = two_kinds();
  const Instance instance = {profile, cluster, 8};
  Plan plan = predicted(instance, both_kinds());
  predict_throughput(instance, work(), plan, 1e6);
  const double seconds = plan.predicted->iteration_seconds;
  const SpeedPrediction& speed = *plan.predicted->speed;
  CHECK(speed.samples_per_second == Approx(8.0 / seconds));
  CHECK(*speed.tokens_per_second == Approx(64.0 / seconds));
  CHECK(*speed.flop_per_second == Approx(100.0 * 8 / seconds / 4));
  CHECK(*speed.utilization == Approx(100.0 * 8 / seconds / 3000.0));
  CHECK(*speed.training_seconds == Approx(1e6 * seconds / 64.0));
  const std::vector<KindPrediction>& kinds = plan.predicted->kinds;
  REQUIRE(kinds.size() == 2);
  CHECK(kinds[0].kind == "v");
  CHECK(kinds[0].used == 2);
  CHECK(kinds[0].memory_bytes == 5e11);
  CHECK(kinds[0].reserve_bytes == 5e11);
  CHECK(kinds[1].reserve_bytes == 0.0);
  CHECK(*kinds[0].flop_per_second == Approx(30.0 * 8 / seconds / 2));
  CHECK(*kinds[1].flop_per_second == Approx(70.0 * 8 / seconds / 2));
  CHECK(*kinds[1].utilization == Approx(70.0 * 8 / seconds / 1000.0));
}

TEST_CASE("kinds are busy, wait and idle as the simulator's devices do", "[planners][throughput]") {
  const Profile profile = four_layers();
  const Cluster cluster = two_kinds();
  const Instance instance = {profile, cluster, 8};
  Plan plan = predicted(instance, both_kinds());
  predict_throughput(instance, work(), plan);
  const Simulation simulation = simulate(instance, plan, planned_programs(instance, plan));
  for (int k = 0; k < 2; ++k) {
    double busy = 0.0, waiting = 0.0;
    for (const SimulatedDevice& device : simulation.devices) {
      if (cluster.kind_index_of(device.device) != k) continue;
      busy += device.busy_seconds;
      waiting += device.communication_seconds;
    }
    const KindPrediction& kind = plan.predicted->kinds[static_cast<std::size_t>(k)];
    CHECK(*kind.computing == Approx(busy / 2 / simulation.makespan_seconds));
    CHECK(*kind.waiting == Approx(waiting / 2 / simulation.makespan_seconds));
    CHECK(*kind.computing + *kind.waiting + *kind.idle == Approx(1.0));
    CHECK(*kind.idle > 0.0);
  }
}

TEST_CASE("what was not simulated is busy as its layers' times say, and nothing is said of waiting",
          "[planners][throughput]") {
  const Profile profile = four_layers();
  const Cluster cluster = two_kinds();
  const Instance instance = {profile, cluster, 8};
  Plan plan = both_kinds();
  plan.predicted = predict(instance, plan);
  predict_throughput(instance, work(), plan);
  const double seconds = plan.predicted->iteration_seconds;
  CHECK(*plan.predicted->kinds[0].computing == Approx(2 * 3.0 * 4 / seconds));  // 2 layers x 3
                                                                                // passes x 4
                                                                                // samples
  CHECK_FALSE(plan.predicted->kinds[0].waiting.has_value());
}

TEST_CASE("devices that the plan leaves out count in no mean and no peak",
          "[planners][throughput]") {
  const Profile profile = four_layers();
  const Cluster cluster = two_kinds();
  const Instance instance = {profile, cluster, 8};
  Plan plan = predicted(instance, uniform_plan({{0, 2}, {2, 4}}, 1, 1, 8, 2, "1f1b"));
  predict_throughput(instance, work(), plan);
  const double seconds = plan.predicted->iteration_seconds;
  CHECK(*plan.predicted->speed->flop_per_second == Approx(800.0 / seconds / 2));
  CHECK(*plan.predicted->speed->utilization == Approx(800.0 / seconds / 2000.0));
  CHECK(plan.predicted->kinds[1].used == 0);
  CHECK(plan.predicted->kinds[1].devices == 2);
  CHECK_FALSE(plan.predicted->kinds[1].computing.has_value());
  CHECK_FALSE(plan.predicted->kinds[1].utilization.has_value());
}

TEST_CASE("the error of predictions is that of the kinds that the plan uses",
          "[planners][throughput]") {
  Profile profile = four_layers();
  Cluster cluster = two_kinds();
  const std::string fast = "h100-sxm-80gb", slow = "a10g";
  for (ProfileLayer& l : profile.layers)
    for (ProfileRow& row : l.rows) row.device = row.device == "t" ? slow : fast;
  cluster.device_kinds[0].name = cluster.groups[0].device_kind = fast;
  cluster.device_kinds[1].name = cluster.groups[1].device_kind = slow;
  cluster.finish("made");
  profile.like = "megatron";
  const RuntimeTraits& megatron = runtime_called("megatron");
  profile.error_band = error_band_of({fast, slow}, megatron);
  REQUIRE(profile.error_band->of == "ga10x GPUs");
  const Instance instance = {profile, cluster, 8};
  Plan both = predicted(instance, both_kinds());
  predict_throughput(instance, work(), both);
  CHECK(both.predicted->error_band->of == "ga10x GPUs");
  Plan one = predicted(instance, uniform_plan({{0, 2}, {2, 4}}, 1, 1, 8, 2, "1f1b"));
  predict_throughput(instance, work(), one);
  CHECK(one.predicted->error_band->of == fast);
  CHECK(one.predicted->error_band->relative == error_band_of({fast}, megatron)->relative);
}

TEST_CASE("no utilisation is said without a peak, or where more than it is reached",
          "[planners][throughput]") {
  const Profile profile = four_layers();
  Cluster cluster = two_kinds();
  const Instance instance = {profile, cluster, 8};
  Plan plan = predicted(instance, both_kinds());
  SECTION("one kind has no rate") { cluster.device_kinds[1].flops.clear(); }
  SECTION("one kind has a rate that is too low") { cluster.device_kinds[1].flops["fp32"] = 1e-3; }
  predict_throughput(instance, work(), plan);
  CHECK(plan.predicted->speed->flop_per_second.has_value());
  CHECK(plan.predicted->kinds[0].utilization.has_value());
  CHECK_FALSE(plan.predicted->kinds[1].utilization.has_value());
}

TEST_CASE("unequal samples and shards have their part of the FLOP, which add up to the model's",
          "[planners][throughput]") {
  const Profile profile = four_layers();
  const Cluster cluster = two_kinds();
  const Instance instance = {profile, cluster, 8};
  Plan plan = uniform_plan({{0, 4}}, 2, 2, 8, 8, "1f1b");
  plan.stages[0].samples = {{0, 6}, {6, 8}};  // the replica on "v" has three quarters
  plan = predicted(instance, plan);
  predict_throughput(instance, work(), plan);
  const std::vector<KindPrediction>& kinds = plan.predicted->kinds;
  CHECK(*kinds[0].flop_per_second == Approx(3.0 * *kinds[1].flop_per_second));
  CHECK(2.0 * (*kinds[0].flop_per_second + *kinds[1].flop_per_second) ==
        Approx(800.0 / plan.predicted->iteration_seconds));
}

TEST_CASE("a plan file keeps what is said of throughput and kinds", "[planners][throughput]") {
  const Profile profile = four_layers();
  const Cluster cluster = two_kinds();
  const Instance instance = {profile, cluster, 8};
  Plan plan = predicted(instance, both_kinds());
  predict_throughput(instance, work(), plan, 3e11);
  const std::string text = write_plan(plan);
  CHECK(write_plan(parse_plan(text, "plan")) == text);
  Plan bare = predicted(instance, both_kinds());
  predict_throughput(instance, {}, bare);
  CHECK(write_plan(parse_plan(write_plan(bare), "plan")) == write_plan(bare));
  CHECK(write_plan(bare).find("tokens") == std::string::npos);
}

TEST_CASE("a configuration's model has the FLOP of its layers, as its metrics have",
          "[planners][throughput]") {
  const Config config = parse_config(
      "[model]\nname = \"gpt2\"\n[training]\nsequence_length = 16\nglobal_batch_size = 4\n", "job",
      "");
  Cluster cluster = nodes_of(1, 1);
  cluster.device_kinds[0].flops["fp32"] = 1e12;
  cluster.device_kinds[0].memory_bandwidth = 1e11;
  const ModelWork work = model_work(config, analytic_profile(config, cluster));
  CHECK(work.flop_source == "layers");
  CHECK(*work.tokens_per_sample == 16.0);
  CHECK(std::accumulate(work.layer_flop.begin(), work.layer_flop.end(), 0.0) ==
        Approx(build_model(config.model, config.training, "job").flop_per_sample()));
}

TEST_CASE(
    "FLOP are those of the layers in another runtime too, and with samples that replicas divide",
    "[planners][throughput]") {
  for (const int context : {1, 2, 3}) {
    const Config config = parse_config(
        fmt::format(
            "[model]\nname = \"gpt2\"\n[training]\nsequence_length = 48\nprecision = \"bf16\"\n"
            "global_batch_size = 6\n[parallelism]\nlike = \"megatron\"\ncontext = {}\n[profile]\n"
            "analytic = true\n",
            context),
        "job", "");
    Cluster cluster = nodes_of(1, context);
    cluster.device_kinds[0].flops["bf16"] = 1e12;
    cluster.device_kinds[0].memory_bandwidth = 1e11;
    const Profile profile = analytic_profile(config, cluster);
    const ModelWork work = model_work(config, profile);
    CHECK(work.flop_source == "layers");
    const Instance instance = {profile, cluster, config.planned_batch_size()};
    Plan plan = uniform_plan({{0, profile.num_layers()}}, context, 1, instance.global_batch_size,
                             context, "1f1b");
    plan.context = context;
    plan = predicted(instance, std::move(plan));
    predict_throughput(instance, work, plan);
    const double seconds = plan.predicted->iteration_seconds;
    CHECK(*plan.predicted->speed->tokens_per_second == Approx(6 * 48 / seconds));
    const double flop = build_model(config.model, config.training, "job").flop_per_sample();
    CHECK(*plan.predicted->speed->flop_per_second == Approx(6 * flop / seconds / context));
  }
}

TEST_CASE("of other layers six FLOP for each parameter and token count, where tokens are known",
          "[planners][throughput]") {
  const Profile profile = four_layers();
  const Config silent =
      parse_config("[model]\nname = \"made\"\n[profile]\nfile = \"p.json\"\n", "job", "");
  const ModelWork unknown = model_work(silent, profile);
  CHECK(unknown.layer_flop.empty());
  CHECK_FALSE(unknown.tokens_per_sample.has_value());
  const Config said = parse_config(
      "[model]\nname = \"made\"\n[profile]\nfile = \"p.json\"\n[training]\nsequence_length = 100\n",
      "job", "");
  const ModelWork work = model_work(said, profile);
  CHECK(work.flop_source == "parameters");
  CHECK(*work.tokens_per_sample == 100.0);
  CHECK(work.layer_flop == std::vector<double>{6e8, 12e8, 18e8, 24e8});
}

TEST_CASE("a classifier's samples are no tokens", "[planners][throughput]") {
  const Config config = parse_config(
      "[model]\nname = \"mlp-classifier\"\n[training]\nglobal_batch_size = 4\n", "job", "");
  Cluster cluster = nodes_of(1, 1);
  cluster.device_kinds[0].flops["fp32"] = 1e12;
  cluster.device_kinds[0].memory_bandwidth = 1e11;
  const ModelWork work = model_work(config, analytic_profile(config, cluster));
  CHECK(work.flop_source == "layers");
  CHECK_FALSE(work.tokens_per_sample.has_value());
}

}  // namespace
}  // namespace pptrain
