#include <algorithm>

#include "planners/what_if/answers.hpp"
#include "planners/what_if/priced_sweep.hpp"
#include "support/catch.hpp"
#include "support/complaint.hpp"

namespace pptrain {
namespace {

TEST_CASE("lists of values are split at commas that stand free", "[planners][what_if]") {
  CHECK(listed_values("none, full", "x") == Texts{"none", "full"});
  CHECK(listed_values(R"([1,2],"a,b",{ c = 1, d = 2 })", "x") ==
        Texts{"[1,2]", "\"a,b\"", "{ c = 1, d = 2 }"});
  CHECK(node_counts("1..3,8", "x") == Texts{"1", "2", "3", "8"});
  CHECK(key_values("parallelism.data=1,2", "--set", "").values == "1,2");
  CHECK(complaint_of([] {
          listed_values("1,,2", "here");
        }).starts_with("here: \"1,,2\" has an empty value"));
  for (const char* text : {"3..1", "x", "-1", "1..", "1.5"}) {
    CHECK(complaint_of([&] { node_counts(text, "here"); }).find("is no number of nodes") !=
          std::string::npos);
  }
  for (const char* text : {"dgx-h100", "=3", "dgx-h100="}) {
    CHECK(complaint_of([&] {
            key_values(text, "--nodes", "dgx-h100=1..8");
          }).find("write for instance --nodes") != std::string::npos);
  }
}

TEST_CASE("points are all combinations, the last axis fastest", "[planners][what_if]") {
  const std::vector<SweepAxis> axes = {{SweepAxis::Kind::nodes, "n", "n", {"1", "2"}},
                                       {SweepAxis::Kind::batch, "batch", "", {"8", "16"}}};
  CHECK(all_points(axes) == std::vector<Texts>{{"1", "8"}, {"1", "16"}, {"2", "8"}, {"2", "16"}});
}

TEST_CASE("points that differ in prices alone are planned once", "[planners][what_if]") {
  const Sweep sweep = swept();
  REQUIRE(sweep.rows.size() == 6);
  CHECK(sweep.num_planned == 3);
  for (std::size_t n = 0; n < 3; ++n) {
    const SweepRow& cheap = sweep.rows[2 * n];
    const SweepRow& dear = sweep.rows[2 * n + 1];
    CHECK(same_plan(*cheap.plan, *dear.plan));
    CHECK(dear.money_each(false) == Approx(2.0 * cheap.money_each(false)));
    const SweepPoint point = point_of(static_cast<int>(n) + 1, 1.0, {});
    const SearchResult alone =
        search_plan("auto", {point.profile, point.cluster, 8}, point.restrictions, "test");
    CHECK(same_plan(*alone.plan, *cheap.plan));
    CHECK(alone.plan->predicted->iteration_seconds == cheap.plan->predicted->iteration_seconds);
  }
}

TEST_CASE("points of the front are those that no other beats in time and money",
          "[planners][what_if]") {
  Sweep sweep = swept();
  int on_front = 0;
  for (const SweepRow& row : sweep.rows) {
    const bool is_beaten =
        std::any_of(sweep.rows.begin(), sweep.rows.end(), [&](const SweepRow& other) {
          const double seconds = other.seconds_each(false) - row.seconds_each(false);
          const double money = other.money_each(false) - row.money_each(false);
          return seconds <= 0.0 && money <= 0.0 && (seconds < 0.0 || money < 0.0);
        });
    CHECK(row.on_front == !is_beaten);
    on_front += row.on_front ? 1 : 0;
  }
  CHECK(on_front >= 1);
  CHECK(on_front < 6);
}

TEST_CASE("answers say what more nodes give", "[planners][what_if]") {
  const Sweep sweep = swept();
  const Texts answers = sweep_answers(sweep, 4);
  CHECK(std::any_of(answers.begin(), answers.end(), [](const std::string& answer) {
    return answer.starts_with("more node: 2 for 1 give ");
  }));
  const auto is_of_more = [](const std::string& answer) { return answer.starts_with("more node"); };
  CHECK(std::count_if(answers.begin(), answers.end(), is_of_more) == 1);  // for both prices
  CHECK(std::any_of(answers.begin(), answers.end(),
                    [](const std::string& answer) { return answer.starts_with("fastest"); }));
}

/// A row with a plan of these stages, replicas and ZeRO stage that takes so long.
SweepRow row_of(Texts values, int stages, int zero_stage, double seconds) {
  std::vector<Interval> layers;
  for (int s = 0; s < stages; ++s) layers.push_back({4 * s / stages, 4 * (s + 1) / stages});
  SweepRow row;
  row.values = std::move(values);
  row.cluster = nodes_of(1, 4);
  row.tokens_per_sample = 1.0;
  row.plan = uniform_plan(layers, 4 / stages, 1, 8, 4, "1f1b");
  for (Stage& stage : row.plan->stages) stage.zero_stage = zero_stage;
  row.plan->predicted = Prediction();
  row.plan->predicted->iteration_seconds = seconds;
  return row;
}

TEST_CASE("answers say from which value on ZeRO beats a pipeline", "[planners][what_if]") {
  Sweep sweep;
  sweep.axes = {{SweepAxis::Kind::batch, "batch", "", {"8", "64"}},
                {SweepAxis::Kind::setting, "pipeline", "parallelism.pipeline", {"1", "2"}}};
  sweep.rows = {row_of({"8", "1"}, 1, 3, 2.0), row_of({"8", "2"}, 2, 0, 1.0),
                row_of({"64", "1"}, 1, 3, 5.0), row_of({"64", "2"}, 2, 0, 6.0)};
  const Texts answers = sweep_answers(sweep, 4);
  CHECK(std::find(answers.begin(), answers.end(),
                  "from batch 64 on ZeRO 3 without a pipeline is fastest, below that a pipeline of "
                  "2 stages") != answers.end());
}

TEST_CASE("nodes that make nothing faster are told", "[planners][what_if]") {
  Sweep sweep;
  sweep.axes = {{SweepAxis::Kind::nodes, "t4", "t4", {"0", "2", "4"}}};
  sweep.rows = {row_of({"0"}, 1, 0, 5.0), row_of({"2"}, 1, 0, 3.0), row_of({"4"}, 1, 0, 3.0)};
  const Texts answers = sweep_answers(sweep, 4);
  CHECK(std::find(answers.begin(), answers.end(),
                  "leave out t4: with more than 2 of them no plan that was found is faster") !=
        answers.end());
}

}  // namespace
}  // namespace pptrain
