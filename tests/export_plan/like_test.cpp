// Plans that are searched for another trainer: it runs them, and typed keys find none that it runs
// faster.
#include "export_plan/like.hpp"

#include <fmt/format.h>

#include <limits>

#include "base/random.hpp"
#include "cluster/expression.hpp"
#include "config/read.hpp"
#include "planners/search.hpp"
#include "profile/analytic.hpp"
#include "support/catch.hpp"
#include "support/complaint.hpp"
#include "support/files.hpp"

namespace pptrain {
namespace {

Config job_of(const std::string& model, const std::string& trainer, int batch) {
  const std::string text = fmt::format(
      "[model]\nfrom = \"{}\"\n[training]\nsequence_length = 1024\nglobal_batch_size = "
      "{}\nprecision = \"bf16\"\n"
      "[parallelism]\nlike = \"{}\"\n[planner]\neffort = \"normal\"\n[cluster]\nfile = "
      "\"c.toml\"\n[profile]\nanalytic "
      "= "
      "true\n",
      source_file("inputs/models/" + model), batch, trainer);
  return parse_config(text, "job.toml", source_file(""));
}

/// Nodes with a part of their devices' memory.
Cluster cluster_of(const std::string& nodes, double part) {
  Cluster cluster = parse_cluster_expression(nodes);
  for (DeviceKind& kind : cluster.device_kinds) kind.memory *= part;
  return cluster;
}

struct Search {
  explicit Search(const Config& config, Cluster nodes)
      : cluster(std::move(nodes)),
        profile(analytic_profile(config, cluster)),
        instance{profile, cluster, config.planned_batch_size()},
        rule(rule_of_trainer(config)),
        restrictions(as_trainer_runs(restrictions_of(config), rule, "job.toml")) {}

  std::optional<Plan> found(const std::string& planner, const Restrictions& keys) const {
    return search_plan(planner, instance, keys, "job.toml").plan;
  }

  Cluster cluster;
  Profile profile;
  Instance instance;
  std::shared_ptr<const PlanRule> rule;
  Restrictions restrictions;
};

double predicted_seconds(const std::optional<Plan>& plan) {
  return plan ? plan->predicted->iteration_seconds : std::numeric_limits<double>::infinity();
}

TEST_CASE("what is found for a trainer it can run, and nothing faster is left out without it",
          "[like]") {
  const std::vector<std::string> clusters = {"1x dgx-h100", "2x 4x a100-sxm-40gb",
                                             "1x 4x h100-sxm-80gb, 1x 4x a100-sxm-40gb",
                                             "1x 4x l40s, 2x 2x a10g"};
  CounterRandom random(7, "searches for trainers");
  std::uint64_t drawn = 0;
  const auto draw = [&](std::size_t number) {
    return static_cast<std::size_t>(random.bits(drawn++) % number);
  };
  int num_found = 0;
  for (int i = 0; i < 24; ++i) {
    const TrainerKind& trainer = trainer_kinds()[draw(trainer_kinds().size())];
    const std::vector<std::string> models =
        trainer.name == "torchtitan" ? std::vector<std::string>{"llama-small"}
                                     : std::vector<std::string>{"llama-small", "mixtral-small"};
    const std::string model = models[draw(models.size())];
    const Config config = job_of(model, trainer.name, 8 << draw(3));
    const double part = std::vector{1.0, 0.01, 0.004, 0.002}[draw(4)];
    const std::string nodes = clusters[draw(clusters.size())];
    INFO(trainer.name << ", " << model << ", " << nodes << ", " << part << " of the memory");
    const Search search(config, cluster_of(nodes, part));
    const std::optional<Plan> plan = search.found("auto", search.restrictions);
    if (!plan) continue;
    ++num_found;
    CHECK(search.rule->allows(search.instance, *plan));
    CHECK(parse_plan(write_plan(*plan), "plan.json").predicted->like == trainer.runtime);
    const std::optional<Plan> free = search.found("auto", restrictions_of(config));
    CHECK(predicted_seconds(free) <= predicted_seconds(plan) * (1.0 + 1e-9));
  }
  CHECK(num_found >= 18);
}

TEST_CASE("typed keys find no plan for Megatron-LM or torchtitan that is faster", "[like]") {
  for (const std::string trainer : {"megatron", "torchtitan"}) {
    const Config config = job_of("llama-small", trainer, 16);
    const Search search(config, cluster_of("1x 4x h100-sxm-80gb, 1x 4x a100-sxm-40gb", 0.01));
    const std::optional<Plan> plan = search.found("auto", search.restrictions);
    REQUIRE(plan);
    int num_runs = 0;
    for (const int pipeline : {1, 2, 4, 8}) {
      for (const int tensor : {1, 2}) {
        for (const char* schedule : {"1f1b", "interleaved-1f1b"}) {
          for (const int zero : {0, 1, 2}) {
            if (pipeline * tensor > 8) continue;
            Restrictions keys = restrictions_of(config);
            keys.pipeline = pipeline;
            keys.tensor = tensor;
            keys.zero_stage = zero;
            keys.schedule = schedule;
            const std::optional<Plan> typed = search.found("uniform", keys);
            if (!typed || !search.rule->allows(search.instance, *typed)) continue;
            ++num_runs;
            INFO(trainer << ", " << typed->shape() << ", " << schedule << ", ZeRO " << zero);
            CHECK(predicted_seconds(plan) <= 1.005 * predicted_seconds(typed));
          }
        }
      }
    }
    CHECK(num_runs >= 5);
  }
}

TEST_CASE("torchtitan runs tied weights in one stage alone, and is planned for so", "[like]") {
  const auto job = [](const std::string& model, const std::string& keys) {
    const std::string text = fmt::format(
        "[model]\nfrom = \"{}\"\ninitial = \"random\"\n[training]\nsequence_length = 16\n"
        "precision = \"bf16\"\n[parallelism]\nlike = \"torchtitan\"\n{}",
        source_file(model), keys);
    return parse_config(text, "job.toml", source_file(""));
  };
  const auto pipeline = [&](const std::string& model) {
    const Config config = job(model, "");
    return as_trainer_runs(restrictions_of(config), rule_of_trainer(config), "job.toml").pipeline;
  };
  CHECK(pipeline("tests/data/models/qwen3") == 1);
  CHECK_FALSE(pipeline("inputs/models/llama-small"));
  const Config typed = job("tests/data/models/qwen3", "pipeline = 2\n");
  CHECK(
      complaint_of([&] {
        as_trainer_runs(restrictions_of(typed), rule_of_trainer(typed), "job.toml");
      }).starts_with("job.toml:9: pipeline = 2 with like = \"torchtitan\" (none of torchtitan's"));
}

TEST_CASE("replicas that divide samples are together in every stage", "[like]") {
  for (const std::string trainer : {"megatron", "torchtitan"}) {
    Config config = job_of("llama-small", trainer, 16);
    config.parallelism.context = 2;
    const Search search(config, cluster_of("2x 4x a100-sxm-40gb", 1.0));
    const std::optional<Plan> plan = search.found("auto", search.restrictions);
    REQUIRE(plan);
    CHECK(plan->context == 2);
    CHECK(plan->samples_per_step() == 16);
    for (const Stage& stage : plan->stages) CHECK(stage.replicas % 2 == 0);
    CHECK(plan->shape().find(" x CP 2 x ") != std::string::npos);
    CHECK(same_plan(parse_plan(write_plan(*plan), "plan.json"), *plan));
    Restrictions keys = search.restrictions;
    keys.data = 8;
    std::optional<Plan> replicas = search.found("auto", keys);
    REQUIRE(replicas);
    CHECK(search.rule->allows(search.instance, *replicas));
    // Replicas 0 and 1 share samples, and one node has both.
    std::vector<std::vector<DeviceId>>& devices = replicas->stages.front().devices;
    REQUIRE(devices.size() == 8);
    std::swap(devices[1], devices[7]);
    CHECK_FALSE(search.rule->allows(search.instance, *replicas));
  }
}

TEST_CASE("devices are left out in groups of those that divide samples", "[like]") {
  Config config = job_of("llama-small", "megatron", 4);
  config.training.sequence_length = 16;
  Cluster cluster = cluster_of("2x 1x a100-sxm-40gb", 1.0);
  for (NodeGroup& group : cluster.groups) group.uplink.bandwidth = 1e8;
  const Search free(config, cluster);
  const std::optional<Plan> alone = free.found("auto", free.restrictions);
  REQUIRE(alone);
  REQUIRE(alone->num_devices() == 1);  // sums of gradients take longer than half of the samples
  config.parallelism.context = 2;
  const Search search(config, cluster);
  const std::optional<Plan> together = search.found("auto", search.restrictions);
  REQUIRE(together);
  CHECK(together->num_devices() == 2);
}

TEST_CASE("degrees and micro-batches that are typed count whole samples", "[like]") {
  Config config = job_of("llama-small", "megatron", 16);
  config.parallelism.context = 2;
  config.parallelism.data = 2;
  config.training.micro_batch_size = 4;
  const Search search(config, cluster_of("2x 4x a100-sxm-40gb", 1.0));
  const std::optional<Plan> plan = search.found("uniform", search.restrictions);
  REQUIRE(plan);
  CHECK(plan->stages.front().replicas == 4);
  CHECK(plan->samples_per_micro_batch() == 4);
  CHECK(plan->micro_batches == 4);
}

TEST_CASE("where memory is short, plans for torchtitan keep every other product", "[like]") {
  const Config config = job_of("llama-small", "torchtitan", 16);
  const Search search(config, cluster_of("1x 4x h100-sxm-80gb", 0.003));
  const std::optional<Plan> plan = search.found("auto", search.restrictions);
  REQUIRE(plan);
  for (const Stage& stage : plan->stages) CHECK(stage.recompute == Recompute::selective);
  for (const Recompute other : {Recompute::none, Recompute::full}) {
    Restrictions keys = search.restrictions;
    keys.recompute = other;
    const std::optional<Plan> typed = search.found("auto", keys);
    INFO(to_string(other));
    REQUIRE(typed);
    CHECK(predicted_seconds(plan) < 0.95 * predicted_seconds(typed));
  }
}

TEST_CASE("what is made again for torchtitan is chosen as well as it is typed", "[like]") {
  Config config = job_of("llama-3-8b", "torchtitan", 64);
  config.training.sequence_length = 8192;
  const Search search(config, cluster_of("1x dgx-a100-40", 1.0));
  const std::optional<Plan> plan = search.found("auto", search.restrictions);
  REQUIRE(plan);
  for (const Recompute typed : {Recompute::none, Recompute::selective, Recompute::full}) {
    Restrictions keys = search.restrictions;
    keys.recompute = typed;
    INFO(to_string(typed));
    CHECK(predicted_seconds(plan) <= 1.005 * predicted_seconds(search.found("auto", keys)));
  }
}

}  // namespace
}  // namespace pptrain
