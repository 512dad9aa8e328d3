// Optimizers: recorded runs of PyTorch's, on one rank and however the model is divided, and going
// on from a checkpoint on another grid.
#include "reference.hpp"
#include "runtime/checkpoint/checkpointer.hpp"
#include "runtime/execute/session.hpp"
#include "runtime/replan/redistribute.hpp"
#include "shaped_plans.hpp"
#include "shared_folder.hpp"
#include "support/catch.hpp"

using namespace pptrain;
using namespace pptrain::test;

namespace {

/// The last three are AdamW with other losses, or with dropout.
const std::vector<std::string> runs = {
    "sgd",    "sgd-nesterov",    "lion",   "adafactor", "muon-fp32",
    "z-loss", "label-smoothing", "dropout"};

int ranks() {
  int size = 0;
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  return size;
}

Plan with_zero(Plan plan, int stage) {
  for (Stage& one : plan.stages) one.zero_stage = stage;
  return plan;
}

void check_run(const std::string& run, const Reference& reference, const Plan& plan) {
  INFO(run << ": " << plan.shape() << ", zero " << plan.stages[0].zero_stage);
  check_curve(train_reference(MPI_COMM_WORLD, reference, plan, 20), reference);
}

struct Division {
  int pipeline, data, tensor, zero;
};

/// Every grid of all ranks, where there are replicas with every ZeRO stage.
std::vector<Division> divisions() {
  std::vector<Division> all;
  for (int pipeline = 1; pipeline <= ranks(); pipeline *= 2) {
    for (int data = 1; pipeline * data <= ranks(); data *= 2) {
      const int tensor = ranks() / pipeline / data;
      if (pipeline > 6 || tensor > 4) continue;
      for (int zero = 0; zero <= (data > 1 ? 3 : 0); ++zero)
        all.push_back({pipeline, data, tensor, zero});
    }
  }
  return all;
}

/// Every optimizer with every `one_of`-th division, each with others, so that every division is
/// met.
void check_divisions(std::size_t one_of) {
  const std::vector<Division> all = divisions();
  for (std::size_t r = 0; r < runs.size(); ++r) {
    const Reference reference("llama", runs[r]);
    for (std::size_t i = r % one_of; i < all.size(); i += one_of) {
      const auto [pipeline, data, tensor, zero] = all[i];
      const Plan plan = reference.plan(pipeline, data, tensor, std::max(4, data), "1f1b");
      check_run(runs[r], reference, with_zero(plan, zero));
    }
  }
}

/// Shards of different sizes: query heads, the key heads that they share, columns and vocabulary.
Plan uneven_plan(int zero) {
  const std::map<std::string, std::vector<std::int64_t>> three_to_one = {
      {"heads", {3, 1}}, {"columns", {100, 76}}, {"vocabulary", {200, 57}}};
  ShapedStage stage = {{6}, {2, 2}, 2, three_to_one, zero};
  return shaped_plan({stage}, 8);
}

/// Every optimizer with every `one_of`-th ZeRO stage, so that every stage is met.
void check_uneven(std::size_t one_of) {
  for (std::size_t r = 0; r < runs.size(); ++r) {
    const Reference reference("llama", runs[r]);
    for (std::size_t zero = r % one_of; zero <= 3; zero += one_of) {
      check_run(runs[r], reference, uneven_plan(static_cast<int>(zero)));
    }
  }
}

/// Stages, replicas, shards, blocks, ZeRO stages and groups that are drawn.
void check_drawn(std::uint64_t seed, int number) {
  for (const std::string run : {"lion", "adafactor", "muon-fp32"}) {
    const Reference reference("llama", run);
    const Model model = build_model(reference.config.model, reference.config.training, "test");
    RandomShapes shapes(
        seed, DrawnBlocks::some,
        {model.num_layers(), reference.config.training.global_batch_size, axes_of(model)});
    for (int i = 0; i < number; ++i) {
      Plan plan = shapes.plan(ranks());
      for (Stage& stage : plan.stages) stage.offload = i % 2 == 0;
      INFO("plan " << i << " of seed " << seed << ", " << run);
      check_curve(
          train_reference(MPI_COMM_WORLD, reference, plan, 20, shapes.machine(plan, ranks())),
          reference);
    }
  }
}

/// Trains `steps` steps and appends their losses.
void train(const Reference& reference, Session& session, std::int64_t first, std::int64_t steps,
           std::vector<double>& losses) {
  for (std::int64_t step = first; step < first + steps; ++step) {
    losses.push_back(session.train(step, reference.samples(step)).loss);
  }
}

/// Seven steps by one plan, moved in memory to another for six more, and by a checkpoint back to a
/// third for the rest.
void check_moves(const std::string& run, const Plan& a, const Plan& b, const Plan& c) {
  INFO(run);
  const Reference reference("llama", run);
  const Model model = build_model(reference.config.model, reference.config.training, "test");
  const std::vector<int> nodes(static_cast<std::size_t>(ranks()), 0);
  const auto session = [&](const Plan& plan) {
    return std::make_unique<Session>(MPI_COMM_WORLD, reference.config, model, plan,
                                     RankMap::identity(ranks()));
  };
  Waiter waiter(600.0, CoreUse::shared);
  std::vector<double> losses;
  auto first = session(a);
  reference.fill(*first);
  train(reference, *first, 0, 7, losses);
  auto second = session(b);
  redistribute(MPI_COMM_WORLD, waiter, model, nodes, *first, *second);
  first.reset();
  train(reference, *second, 7, 6, losses);
  const SharedFolder folder;
  Alarm alarm(MPI_COMM_WORLD);
  Checkpointer checkpointer(
      {MPI_COMM_WORLD, reference.config, model, nodes, folder.path(), CoreUse::shared}, alarm);
  CheckpointState state;
  state.step = 13;
  const Resumed saved =
      saved_datasets(model, reference.config, checkpointer.save(state, *second).path);
  second.reset();
  auto third = session(c);
  load_checkpoint(MPI_COMM_WORLD, waiter, nodes, model, saved, *third);
  train(reference, *third, 13, 7, losses);
  CHECK(largest_difference(losses, reference.losses) <= reference.loss_tolerance);
}

}  // namespace

TEST_CASE("optimizers train as PyTorch's do", "[np1]") { check_divisions(1); }
TEST_CASE("optimizers train as PyTorch's do on two ranks", "[np2]") { check_divisions(1); }
TEST_CASE("optimizers train as PyTorch's do on four ranks", "[np4]") { check_divisions(3); }
TEST_CASE("optimizers train as PyTorch's do on eight ranks", "[np8]") { check_divisions(4); }
TEST_CASE("each optimizer trains as PyTorch's does on every grid of four ranks", "[np4][long]") {
  check_divisions(1);
}
TEST_CASE("each optimizer trains as PyTorch's does on every grid of eight ranks", "[np8][long]") {
  check_divisions(1);
}

TEST_CASE("optimizers train as PyTorch's do with uneven shards", "[np4]") { check_uneven(2); }
TEST_CASE("each optimizer trains as PyTorch's does with uneven shards", "[np4][long]") {
  check_uneven(1);
}

TEST_CASE("optimizers train as PyTorch's do by plans that are drawn", "[np4]") {
  check_drawn(31, 4);
}
TEST_CASE("optimizers train as PyTorch's do by plans that are drawn for eight ranks", "[np8]") {
  check_drawn(32, 4);
}
TEST_CASE("optimizers train as PyTorch's do by twenty plans that are drawn", "[np8][long]") {
  check_drawn(33, 20);
}

/// Products read 16-bit copies of the weights, which every step writes anew.
TEST_CASE("optimizers train in bf16 nearly as in fp32", "[np4]") {
  for (const std::string& run : runs) {
    Reference reference("llama", run);
    reference.config.training.precision = Precision::bf16;
    for (const int zero : {0, 1, 3}) {
      INFO(run << ", zero " << zero);
      const Curve curve = train_reference(MPI_COMM_WORLD, reference,
                                          with_zero(reference.plan(1, 2, 2, 4, "1f1b"), zero), 20);
      CHECK(largest_difference(curve.losses, reference.losses) <= 2e-2);
    }
  }
}

TEST_CASE("optimizers go on by another plan, in memory and from a checkpoint", "[np4]") {
  for (const std::string& run : runs) {
    const Reference reference("llama", run);
    const Plan pipeline = reference.plan(2, 1, 2, 4, "1f1b");
    const Plan divided = with_zero(reference.plan(1, 4, 1, 4, "1f1b"), 3);
    check_moves(run, pipeline, divided, uneven_plan(1));
    check_moves(run, uneven_plan(2), reference.plan(4, 1, 1, 2, "1f1b"), divided);
  }
}
