// Models with experts: the loss of their balance, which is of whole micro-batches, on any division
// of them.
#include <algorithm>
#include <numeric>

#include "base/error.hpp"
#include "model/build/check.hpp"
#include "plan/match.hpp"
#include "reference.hpp"
#include "runtime/execute/session.hpp"
#include "shaped_plans.hpp"
#include "support/catch.hpp"
#include "support/complaint.hpp"

using namespace pptrain;
using namespace pptrain::test;

namespace {

const std::string balanced_run = "aux-per-layer-micro2";
/// Balanced over all layers together, as transformers does.
const std::string balanced_model_run = "aux-micro2";

Plan with(Plan plan, int zero_stage, Recompute recompute) {
  for (Stage& stage : plan.stages) {
    stage.zero_stage = zero_stage;
    stage.recompute = recompute;
  }
  return plan;
}

/// Plans of these grids (stages, replicas, shards), with some schedules, ZeRO stages and
/// recomputation.
void check_balanced(const std::vector<std::array<int, 3>>& grids) {
  const Reference reference("mixtral", balanced_run);
  for (const auto& [pipeline, data, tensor] : grids) {
    for (const char* schedule : {"1f1b", "zb-h1", "gpipe"}) {
      const Plan plan = reference.plan(pipeline, data, tensor, 2, schedule);
      for (const int zero_stage : {0, 1, 2, 3}) {
        const Recompute recompute = zero_stage % 2 == 0 ? Recompute::none : Recompute::full;
        INFO(plan.shape() << ", " << schedule << ", ZeRO " << zero_stage);
        check_curve(
            train_reference(MPI_COMM_WORLD, reference, with(plan, zero_stage, recompute), 20),
            reference);
      }
    }
  }
}

/// Plans of these grids (stages, replicas, shards), with the schedules that have so many chunks.
void check_balanced_model(const std::vector<std::array<int, 3>>& grids, int chunks = 1) {
  const Reference reference("mixtral", balanced_model_run);
  for (const auto& [pipeline, data, tensor] : grids) {
    for (const Kind& kind : kinds) {
      if (std::find(kind.chunks.begin(), kind.chunks.end(), chunks) == kind.chunks.end()) continue;
      const Plan plan = reference.plan(pipeline, data, tensor, 2, kind.schedule, chunks);
      for (const int zero_stage : {0, 3}) {
        const Recompute recompute = zero_stage == 0 ? Recompute::none : Recompute::full;
        INFO(plan.shape() << ", " << kind.schedule << ", ZeRO " << zero_stage);
        check_curve(
            train_reference(MPI_COMM_WORLD, reference, with(plan, zero_stage, recompute), 20),
            reference);
      }
    }
  }
}

/// Divisions of the experts over the members of grids (stages, replicas, shards), evenly and not.
void check_divided(const std::string& folder, const std::array<int, 3>& grid,
                   const std::vector<std::vector<std::int64_t>>& divisions) {
  const Reference reference(folder);
  const auto& [pipeline, data, tensor] = grid;
  for (const std::vector<std::int64_t>& numbers : divisions) {
    for (const int zero_stage : {0, 1, 2, 3}) {
      if (zero_stage > 0 && data == 1) continue;
      for (const Recompute recompute : {Recompute::none, Recompute::full}) {
        const Plan plan = with_experts(reference.plan(pipeline, data, tensor, 2, "1f1b"), numbers);
        INFO(folder << ", " << plan.shape() << ", ZeRO " << zero_stage << ", " << numbers.front()
                    << " experts first");
        check_curve(
            train_reference(MPI_COMM_WORLD, reference, with(plan, zero_stage, recompute), 20),
            reference);
      }
    }
  }
}

/// Replicas of everything but the experts, which all devices together divide.
void check_experts_apart(const std::string& folder, const std::vector<std::int64_t>& numbers,
                         const std::string& run = "") {
  const Reference reference(folder, run);
  const Model model = build_model(reference.config.model, reference.config.training, "test");
  const int devices = static_cast<int>(numbers.size());
  const std::int64_t of_any = run.empty() ? 4 : 2;
  for (const int zero_stage : {0, 1, 2, 3}) {
    Plan plan = with(reference.plan(1, devices, 1, of_any, "1f1b"), zero_stage, Recompute::none);
    for (std::int64_t l = 0; l < model.num_layers(); ++l) {
      if (!model.layers[static_cast<std::size_t>(l)].has_division(WeightDivision::experts))
        continue;
      Plan of_block = with_experts(reference.plan(1, 1, devices, of_any, "1f1b"), numbers);
      plan.stages[0].blocks.push_back({{l, l + 1},
                                       1,
                                       devices,
                                       TensorPattern::megatron,
                                       {{0, plan.micro_batch_size}},
                                       of_block.stages[0].shards});
    }
    REQUIRE(plan.stages[0].blocks.size() == 2);
    INFO(folder << ", ZeRO " << zero_stage);
    check_curve(train_reference(MPI_COMM_WORLD, reference, plan, 20), reference);
  }
}

/// Grids (stages, replicas) of which so many replicas divide the experts, evenly and not.
void check_sent_rows(const std::string& folder, const std::array<int, 2>& grid,
                     const std::vector<std::int64_t>& numbers, const std::string& run = "") {
  const Reference reference(folder, run);
  const Model model = build_model(reference.config.model, reference.config.training, "test");
  const std::int64_t of_any = run.empty() ? 4 : 2;
  for (const char* schedule : {"1f1b", "zb-h1"}) {
    for (const int zero_stage : {0, 1, 2, 3}) {
      const Recompute recompute = zero_stage % 2 == 0 ? Recompute::none : Recompute::full;
      const Plan plan = with_sent_rows(
          with(reference.plan(grid[0], grid[1], 1, of_any, schedule), zero_stage, recompute), model,
          numbers);
      INFO(folder << ", " << plan.shape() << ", " << schedule << ", ZeRO " << zero_stage);
      check_curve(train_reference(MPI_COMM_WORLD, reference, plan, 20), reference);
    }
  }
}

/// Rows that went to each expert in the first step, behind an evaluation, which does not count.
std::vector<double> counted_rows(const Reference& reference, const Model& model, const Plan& plan) {
  Session session(MPI_COMM_WORLD, reference.config, model, plan, RankMap::identity(4));
  reference.fill(session);
  session.evaluate(reference.samples(0));
  return session.train(0, reference.samples(0)).expert_rows;
}

}  // namespace

TEST_CASE("rows that are sent to experts train as recorded", "[np2]") {
  check_sent_rows("mixtral", {1, 2}, {1, 3});
  check_sent_rows("mixtral", {1, 2}, {2, 2}, balanced_run);
}
TEST_CASE("rows that are sent to experts train as recorded on four ranks", "[np4]") {
  check_sent_rows("mixtral", {1, 4}, {1, 1, 1, 1});
  check_sent_rows("qwen2-moe", {1, 4}, {1, 4, 2, 1});
  check_sent_rows("qwen2-moe", {2, 2}, {3, 5});
  check_sent_rows("qwen2-moe", {1, 4}, {6, 2});
}
TEST_CASE("rows that are sent to experts are counted once", "[np4]") {
  const Reference reference("qwen2-moe");
  const Model model = build_model(reference.config.model, reference.config.training, "test");
  const Plan plain = reference.plan(1, 4, 1, 4, "1f1b");
  CHECK(counted_rows(reference, model, with_sent_rows(plain, model, {1, 4, 2, 1})) ==
        counted_rows(reference, model, plain));
}
TEST_CASE("two runs whose rows are sent to experts agree bit for bit", "[np4]") {
  const Reference reference("qwen2-moe");
  const Model model = build_model(reference.config.model, reference.config.training, "test");
  const Plan plan = with_sent_rows(reference.plan(1, 4, 1, 8, "1f1b"), model, {1, 4, 2, 1});
  const Curve once = train_reference(MPI_COMM_WORLD, reference, plan, 10);
  CHECK(once.losses == train_reference(MPI_COMM_WORLD, reference, plan, 10).losses);
}
TEST_CASE("rows are sent to experts where there are some, by members with samples of their own",
          "[np1]") {
  const Reference reference("mixtral");
  const Model model = build_model(reference.config.model, reference.config.training, "test");
  const auto complaint = [&](const std::function<void(Block&)>& change) {
    Plan plan = with_sent_rows(reference.plan(1, 2, 1, 4, "1f1b"), model, {2, 2});
    change(plan.stages[0].blocks.front());
    return complaint_of([&] { check_plan_model(plan, model, "plan.json"); });
  };
  CHECK(complaint([](Block&) {}) == "nothing was refused");
  CHECK_THAT(complaint([](Block& block) { block.shards.clear(); }),
             Catch::Contains("\"all-to-all\" without experts in shards"));
  CHECK_THAT(complaint([](Block& block) {
               block.samples = {{0, 4}};
             }),
             Catch::Contains("1 intervals for 2 members") || Catch::Contains("do not cover"));
  CHECK_THAT(complaint([](Block& block) {
               block.layers = {0, 1};
             }),
             Catch::Contains("of layer 0 (embedding)") && Catch::Contains("it has no experts"));
}

TEST_CASE("replicas that divide the experts between them train as recorded", "[np2]") {
  check_experts_apart("mixtral", {1, 3});
}
TEST_CASE("replicas that divide the experts between them train as recorded on four ranks",
          "[np4]") {
  check_experts_apart("mixtral", {1, 1, 1, 1});
  check_experts_apart("qwen2-moe", {1, 4, 2, 1});
}
TEST_CASE("members that have whole experts train as recorded", "[np2]") {
  check_divided("mixtral", {1, 1, 2}, {{2, 2}, {1, 3}});
  check_divided("qwen2-moe", {1, 1, 2}, {{4, 4}, {7, 1}});
}
TEST_CASE("members that have whole experts train as recorded on four ranks", "[np4]") {
  check_divided("mixtral", {1, 1, 4}, {{1, 1, 1, 1}});
  check_divided("mixtral", {1, 2, 2}, {{3, 1}});
  check_divided("qwen2-moe", {1, 1, 4}, {{1, 4, 2, 1}});
  check_divided("qwen2-moe", {2, 1, 2}, {{3, 5}});
}
TEST_CASE("members that have whole experts train as recorded on eight ranks", "[np8]") {
  check_divided("qwen2-moe", {1, 2, 4}, {{2, 2, 2, 2}, {1, 1, 1, 5}});
}

TEST_CASE("rows of experts are counted once, whatever the plan", "[np4]") {
  const Reference reference("qwen2-moe");
  const Model model = build_model(reference.config.model, reference.config.training, "test");
  const std::vector<double> rows =
      counted_rows(reference, model, reference.plan(1, 1, 4, 8, "1f1b"));
  const double all =
      static_cast<double>(reference.config.training.global_batch_size * model.sample.rows) * 3.0;
  REQUIRE(rows.size() == 2 * 8);
  for (const int layer : {0, 1}) {
    const auto begin = rows.begin() + 8 * layer;
    CHECK(std::accumulate(begin, begin + 8, 0.0) == all);
    CHECK(*std::max_element(begin, begin + 8) > all / 8.0);
  }
  for (const Recompute recompute : {Recompute::none, Recompute::full}) {
    CHECK(counted_rows(reference, model, with(reference.plan(2, 2, 1, 2, "zb-h1"), 0, recompute)) ==
          rows);
    CHECK(counted_rows(reference, model, with(reference.plan(1, 2, 2, 2, "1f1b"), 3, recompute)) ==
          rows);
    CHECK(counted_rows(reference, model,
                       with_experts(reference.plan(2, 1, 2, 4, "gpipe"), {3, 5})) == rows);
  }
}

TEST_CASE("whole experts need a member each, and no more than there are", "[np1]") {
  const Reference reference("mixtral");
  const Model model = build_model(reference.config.model, reference.config.training, "test");
  const auto complaint = [&](int tensor, const std::vector<std::int64_t>& numbers) {
    const Plan plan = with_experts(reference.plan(1, 1, tensor, 2, "1f1b"), numbers);
    return complaint_of([&] { check_plan_model(plan, model, "plan.json"); });
  };
  CHECK(complaint(4, {1, 1, 1, 1}) == "nothing was refused");
  CHECK_THAT(complaint(2, {2, 3}), Catch::Contains("they end at 5, but the model has 4 experts"));
  CHECK_THAT(complaint(4, {2, 2, 0, 0}), Catch::Contains("a member has none"));
}

TEST_CASE("experts are balanced over each micro-batch as recorded", "[np1]") {
  check_balanced({{1, 1, 1}});
}
TEST_CASE("experts are balanced so by two replicas, stages or shards", "[np2]") {
  check_balanced({{1, 2, 1}, {2, 1, 1}, {1, 1, 2}});
}
TEST_CASE("experts are balanced so on four ranks", "[np4]") {
  check_balanced({{2, 2, 1}, {1, 2, 2}, {4, 1, 1}});
}
TEST_CASE("experts are balanced so on eight ranks", "[np8]") {
  check_balanced({{4, 2, 1}, {2, 2, 2}, {2, 1, 4}});
}

TEST_CASE("experts are balanced over all layers together as transformers does", "[np1]") {
  check_balanced_model({{1, 1, 1}});
  const Reference whole("mixtral", "aux");
  const std::int64_t batch = whole.config.training.global_batch_size;
  check_curve(train_reference(MPI_COMM_WORLD, whole, whole.plan(1, 1, 1, batch, "1f1b"), 20),
              whole);
}
TEST_CASE("experts are balanced over all layers by two replicas, stages or shards", "[np2]") {
  check_balanced_model({{1, 2, 1}, {2, 1, 1}, {1, 1, 2}});
  check_balanced_model({{2, 1, 1}}, 2);
  check_sent_rows("mixtral", {1, 2}, {1, 3}, balanced_model_run);
  check_experts_apart("mixtral", {1, 3}, balanced_model_run);
}
TEST_CASE("experts are balanced over all layers on four ranks", "[np4]") {
  check_balanced_model({{2, 2, 1}, {1, 2, 2}, {4, 1, 1}});
  check_balanced_model({{2, 2, 1}}, 2);
  check_sent_rows("mixtral", {2, 2}, {2, 2}, balanced_model_run);
  const Reference whole("mixtral", "aux");
  for (const Plan& plan : {shaped_plan({{{3}, {5, 2, 1}, 1, {}, 2}, {{3}, {8}, 1}}, 8),
                           shaped_plan({{{1}, {8}, 1}, {{5}, {1, 4, 3}, 1, {}, 1}}, 8)}) {
    check_curve(train_reference(MPI_COMM_WORLD, whole, plan, 20), whole);
  }
}
TEST_CASE("experts are balanced over all layers on eight ranks", "[np8]") {
  check_balanced_model({{4, 2, 1}, {2, 1, 4}});
}

TEST_CASE("the balance does not depend on how unevenly replicas divide a micro-batch", "[np4]") {
  Reference reference("mixtral", balanced_run);
  reference.config.training.micro_batch_size = 8;
  const auto losses = [&](const Plan& plan) {
    return train_reference(MPI_COMM_WORLD, reference, plan, 20).losses;
  };
  const std::vector<double> alone = losses(reference.plan(1, 1, 1, 8, "1f1b"));
  CHECK(largest_difference(alone, reference.losses) > 1e-3);  // another micro-batch, another loss
  const Plan uneven = shaped_plan({{{3}, {5, 2, 1}, 1, {}, 2}, {{3}, {8}, 1}}, 8);
  CHECK(largest_difference(losses(uneven), alone) <= reference.loss_tolerance);
}

TEST_CASE("two runs with experts agree bit for bit", "[np4]") {
  for (const auto& [folder, run] : {std::pair{"mixtral", balanced_run},
                                    {"mixtral", balanced_model_run},
                                    {"qwen2-moe", std::string()}}) {
    const Reference reference(folder, run);
    for (const Plan& plan : {reference.plan(2, 2, 1, 2, "1f1b"),
                             with(reference.plan(1, 2, 2, 2, "1f1b"), 3, Recompute::full)}) {
      const Curve once = train_reference(MPI_COMM_WORLD, reference, plan, 10);
      const Curve again = train_reference(MPI_COMM_WORLD, reference, plan, 10);
      CHECK((once.losses == again.losses && once.grad_norms == again.grad_norms));
    }
  }
}

TEST_CASE("the parts of a loss are told apart, and an evaluation has the cross-entropy alone",
          "[np2]") {
  // "auxiliary" of expected-aux-per-layer-micro2.json and expected-aux-micro2.json
  for (const auto& [run, auxiliary] :
       {std::pair{balanced_run, 2.464072287}, {balanced_model_run, 2.227748573}}) {
    const Reference reference("mixtral", run);
    const Model model = build_model(reference.config.model, reference.config.training, "test");
    Session session(MPI_COMM_WORLD, reference.config, model, reference.plan(2, 1, 1, 2, "1f1b"),
                    RankMap::identity(2));
    reference.fill(session);
    const double cross_entropy = session.evaluate(reference.samples(0));
    const IterationResult result = session.train(0, reference.samples(0));
    CHECK(result.loss == Approx(cross_entropy + 0.02 * result.balance).epsilon(1e-7));
    CHECK(result.balance == Approx(auxiliary).epsilon(1e-6));
  }
}

TEST_CASE(
    "a loss of experts' balance is refused without experts, and without a size of micro-batches",
    "[np1]") {
  Reference reference("mixtral", balanced_run);
  Config& config = reference.config;
  const auto complaint = [&] { return complaint_of([&] { build_model_of(config); }); };
  CHECK_NOTHROW(build_model_of(config));
  const Model model = build_model_of(config);
  CHECK_NOTHROW(check_plan_batches(config, model, 2, "plan.json"));
  CHECK_THAT(complaint_of([&] { check_plan_batches(config, model, 4, "plan.json"); }),
             Catch::Contains("one of 2"));
  config.training.micro_batch_size = {};
  CHECK_NOTHROW(build_model_of(config));  // a job without data trains nothing
  config.parallelism.expert = 5;
  CHECK_THAT(complaint(),
             Catch::Contains("expert = 5, but mixtral has 4 experts in each such layer"));
  config.parallelism.expert = {};
  config.data.train = {"text.bin"};
  CHECK_THAT(complaint(), Catch::Contains("micro_batch_size = \"auto\" for a mixtral"));
  config.training.router_aux_loss = 0.0;
  CHECK_NOTHROW(build_model_of(config));
  Reference dense("llama");
  dense.config.training.router_aux_loss = 0.1;
  CHECK_THAT(complaint_of([&] { build_model_of(dense.config); }),
             Catch::Contains("router_aux_loss = 0.1 for a llama"));
}
