// Experts divided over replicas that send rows to one another.
#include <fmt/format.h>

#include <algorithm>

#include "base/error.hpp"
#include "config/read.hpp"
#include "cost/instances.hpp"
#include "planners/search.hpp"
#include "support/catch.hpp"
#include "support/complaint.hpp"

namespace pptrain {
namespace {

/// Two nodes of a device each, and two of a device that takes `slower` times as long. Experts have
/// most of the parameters, so that replicas of them spend their time on gradients.
struct Mixed {
  Profile profile;
  Cluster cluster;

  Mixed(double slower, const std::vector<int>& degrees) : cluster(nodes_of(2, 1, 1e9)) {
    for (const char* name : {"embedding", "attention", "experts", "output"}) {
      profile.layers.push_back(layer(name, 1.0, 1.0, 2.0));
      profile.layers.back().parameters = 1e3;
      profile.layers.back().output_bytes = 10.0;
      profile.layers.back().tensor_parallel_allreduce_bytes = 1e6;
    }
    profile.layers[2].parameters = 1e6;
    profile.layers[2].exchange_bytes = 1e4;
    add_kind(profile, "t", slower);
    for (const int degree : degrees) add_degree(profile, degree);
    profile.axes = {{"experts", 16}};
    add_slow_node(cluster, 1, 1e9);
    cluster.groups.back().count = 2;
    for (NodeGroup& group : cluster.groups) group.uplink = {1e6, 0.0};
    cluster.finish("made");
  }

  Plan plan(const std::string& experts, const std::string& more = "pipeline = 1\n") const {
    const std::string text =
        "[parallelism]\nvirtual_stages = 1\n" + more + "experts = \"" + experts + "\"\n";
    const Restrictions restrictions = restrictions_of(parse_config(text, "c.toml", ""));
    return *search_plan("auto", {profile, cluster, 16}, restrictions, "c.toml").plan;
  }
};

TEST_CASE("replicas send rows to experts where that is asked for and faster", "[planners]") {
  const Mixed even(1.0, {2, 4});
  const Plan whole = even.plan("whole"), sent = even.plan("all-to-all");
  REQUIRE(sent.stages[0].blocks.size() == 1);
  const Block& block = sent.stages[0].blocks[0];
  CHECK((block.pattern == TensorPattern::all_to_all && block.layers == Interval{2, 3}));
  CHECK(sent.predicted->iteration_seconds < whole.predicted->iteration_seconds);
  const std::vector<Interval>& experts = block.shards.at("experts");
  CHECK(std::all_of(experts.begin(), experts.end(),
                    [&](Interval own) { return own.size() == experts[0].size(); }));
  CHECK(
      std::none_of(whole.stages[0].blocks.begin(), whole.stages[0].blocks.end(),
                   [](const Block& other) { return other.pattern == TensorPattern::all_to_all; }));
}

TEST_CASE("replicas send rows where nobody says anything and that is faster", "[planners]") {
  const Mixed even(1.0, {2, 4});
  const Plan sent = even.plan("all-to-all"), chosen = even.plan("auto"),
             columns = even.plan("columns");
  CHECK(chosen.predicted->iteration_seconds <= sent.predicted->iteration_seconds * (1.0 + 1e-9));
  REQUIRE(chosen.stages[0].blocks.size() == 1);
  CHECK(chosen.stages[0].blocks[0].pattern == TensorPattern::all_to_all);
  CHECK(columns.predicted->iteration_seconds > chosen.predicted->iteration_seconds);
  for (const Stage& stage : columns.stages) CHECK((stage.blocks.empty() && stage.shards.empty()));
  CHECK(restrictions_of(parse_config("", "c.toml", "")).experts == Experts::chosen);
  CHECK(as_in_papers(restrictions_of(parse_config("", "c.toml", ""))).experts == Experts::columns);
}

TEST_CASE("as many replicas divide the experts as are asked for", "[planners]") {
  const Mixed even(1.0, {2, 4});
  for (const int members : {2, 4}) {
    const Plan plan = even.plan("all-to-all", fmt::format("pipeline = 1\nexpert = {}\n", members));
    REQUIRE(plan.stages[0].blocks.size() == 1);
    CHECK(plan.stages[0].blocks[0].tensor_parallel == members);
    CHECK(plan.predicted->iteration_seconds >=
          0.999 * even.plan("all-to-all").predicted->iteration_seconds);
  }
  const auto complaint = [&](const std::string& planner, const std::string& keys) {
    const std::string text = "[parallelism]\n" + keys;
    return complaint_of([&] {
      const Restrictions restrictions = restrictions_of(parse_config(text, "c.toml", ""));
      const SearchResult found =
          search_plan(planner, {even.profile, even.cluster, 16}, restrictions, "c.toml");
      if (!found.plan) throw_bad_input({"", found.why_not, "", ""});
    });
  };
  CHECK(complaint("auto", "expert = 2\n") == "nothing was refused");
  CHECK_THAT(complaint("auto", "expert = 2\nexperts = \"columns\"\n"),
             Catch::StartsWith("c.toml:2: expert = 2 with experts = \"columns\""));
  CHECK_THAT(complaint("amp", "experts = \"all-to-all\"\nexpert = 2\n"),
             Catch::StartsWith("c.toml:3: planner \"amp\" with expert = 2"));
  CHECK_THAT(complaint("auto", "experts = \"all-to-all\"\nexpert = 2\ndata = 2\ntensor = 2\n"),
             Catch::StartsWith("c.toml:3: expert = 2 with tensor = 2") &&
                 Catch::Contains("use tensor = 1"));
  CHECK_THAT(complaint("auto", "experts = \"all-to-all\"\nexpert = 4\ndata = 2\n"),
             Catch::StartsWith("c.toml:3: expert = 4 does not divide data = 2") &&
                 Catch::Contains("use 2"));
  CHECK_THAT(complaint("auto", "experts = \"all-to-all\"\nexpert = 3\n"),
             Catch::StartsWith("c.toml:3: expert = 3 on 4 devices") &&
                 Catch::Contains("no plan is known whose experts 3 replicas divide"));
}

TEST_CASE("slower members get fewer experts", "[planners]") {
  const Plan plan = Mixed(3.0, {4}).plan("all-to-all", "pipeline = 1\ndata = 4\n");
  REQUIRE(plan.stages[0].blocks.size() == 1);
  const Block& block = plan.stages[0].blocks[0];
  REQUIRE(block.tensor_parallel == 4);
  std::int64_t fast = 0, slow = 0;
  for (int k = 0; k < 4; ++k) {
    const DeviceId device = plan.stages[0].devices[static_cast<std::size_t>(k)][0];
    (device.index() < 2 ? fast : slow) +=
        block.shards.at("experts")[static_cast<std::size_t>(k)].size();
  }
  CHECK(fast > slow);
}

TEST_CASE("members behind slow links get fewer samples and experts", "[planners]") {
  Mixed mixed(1.0, {4});
  for (ProfileLayer& each : mixed.profile.layers) {
    for (ProfileRow& row : each.rows) row.seconds = {1e-3, 1e-3, 1e-3};
  }
  mixed.profile.layers[2].exchange_bytes = 1e5;
  mixed.cluster.groups.back().uplink = {1e5, 0.0};
  mixed.cluster.finish("made");
  const Plan plan = mixed.plan("all-to-all", "pipeline = 1\ndata = 4\n");
  REQUIRE(plan.stages[0].blocks.size() == 1);
  const std::vector<Interval>& experts = plan.stages[0].blocks[0].shards.at("experts");
  for (std::size_t k = 0; k < 4; ++k) {
    const bool slow = plan.stages[0].devices[k][0].index() >= 2;
    CHECK((experts[k].size() < 4) == slow);
    CHECK((plan.stages[0].samples[k].size() < 4) == slow);
  }
}

TEST_CASE("a split of layers with experts sends rows where that is asked for", "[planners]") {
  const Mixed mixed(1.0, {2, 4});
  const auto plan = [&](const std::string& experts) {
    std::string text = "[parallelism]\npipeline = 1\nexperts = \"" + experts + "\"\n";
    for (const char* part : {"[0, 2]\nprimitive = \"replicate\"", "[2, 3]\nprimitive = \"split\"",
                             "[3, 4]\nprimitive = \"replicate\""}) {
      text += std::string("[[model.annotate]]\nlayers = ") + part + "\ndevices = 4\n";
    }
    return *search_plan("whale", {mixed.profile, mixed.cluster, 16},
                        restrictions_of(parse_config(text, "c.toml", "")), "c.toml")
                .plan;
  };
  const Plan sent = plan("all-to-all"), whole = plan("whole");
  REQUIRE(sent.stages[0].blocks.size() == 1);
  const Block& block = sent.stages[0].blocks[0];
  CHECK((block.layers == Interval{2, 3} && block.pattern == TensorPattern::all_to_all &&
         block.tensor_parallel == 4));
  CHECK(block.samples == sent.stages[0].samples);
  CHECK(block.shards.at("experts") == even_division(16, 4));
  REQUIRE(whole.stages[0].blocks.size() == 1);
  CHECK(whole.stages[0].blocks[0].pattern == TensorPattern::megatron);
  CHECK(sent.predicted->iteration_seconds < whole.predicted->iteration_seconds);
}

}  // namespace
}  // namespace pptrain
