// Families of models as people use them: recorded runs of transformers, on one rank and on any division of it.
#include "reference.hpp"
#include "runtime/execute/session.hpp"
#include "shaped_plans.hpp"
#include "support/catch.hpp"

using namespace pptrain;
using namespace pptrain::test;

namespace {

const std::vector<std::string> folders = {"llama", "llama-tied-rope3", "qwen2", "gpt2-hf"};

int world_size() {
  int size = 0;
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  return size;
}

/// Grids of all ranks, with every degree that divides their number.
std::vector<std::array<int, 3>> grids(int ranks) {
  std::vector<std::array<int, 3>> result;
  for (int pipeline = 1; pipeline <= ranks; pipeline *= 2) {
    for (int data = 1; pipeline * data <= ranks; data *= 2) result.push_back({pipeline, data, ranks / pipeline / data});
  }
  return result;
}

/// Every grid of all ranks, all twenty steps.
void check_grids() {
  for (const std::string& folder : folders) {
    const Reference reference(folder);
    const Model model = build_model(reference.config.model, reference.config.training, "test");
    for (const auto& [pipeline, data, tensor] : grids(world_size())) {
      if (pipeline > model.num_layers() || tensor > model.axis_size(ShardAxis::heads)) continue;
      INFO(folder << ": pipeline " << pipeline << ", data " << data << ", tensor " << tensor);
      const std::int64_t batch = reference.config.training.global_batch_size;
      const Plan plan = reference.plan(pipeline, data, tensor, std::max<std::int64_t>(batch / 2, data), "1f1b");
      check_curve(train_reference(MPI_COMM_WORLD, reference, plan, 20), reference);
    }
  }
}

/// Drawn stages, replicas, shards, ZeRO stages and recomputation.
void check_drawn(int plans) {
  for (const std::string& folder : {"llama", "qwen2"}) {
    const Reference reference(folder);
    for (int i = 0; i < plans; ++i) {
      const Plan plan = shaped_plan(reference, i);
      INFO(folder << ": " << plan.shape() << "\n" << write_plan(plan));
      check_curve(train_reference(MPI_COMM_WORLD, reference, plan, 20), reference);
    }
  }
}

}  // namespace

TEST_CASE("published models train as transformers does", "[np1]") { check_grids(); }
TEST_CASE("published models train as transformers does on two ranks", "[np2]") { check_grids(); }
TEST_CASE("published models train as transformers does on four ranks", "[np4]") { check_grids(); }
TEST_CASE("published models train as transformers does on eight ranks", "[np8]") { check_grids(); }
