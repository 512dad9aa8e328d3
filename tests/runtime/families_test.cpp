// Families of models as people use them: recorded runs of transformers, on one rank and on any
// division of it.
#include "reference.hpp"
#include "runtime/execute/session.hpp"
#include "shaped_plans.hpp"
#include "support/catch.hpp"

using namespace pptrain;
using namespace pptrain::test;

namespace {

/// Grids of all ranks, with every degree that divides their number.
std::vector<std::array<int, 3>> grids(int ranks) {
  std::vector<std::array<int, 3>> result;
  for (int pipeline = 1; pipeline <= ranks; pipeline *= 2) {
    for (int data = 1; pipeline * data <= ranks; data *= 2)
      result.push_back({pipeline, data, ranks / pipeline / data});
  }
  return result;
}

/// All twenty steps of every model on every `one_of`-th grid of all ranks, each on others, so that
/// every grid is met.
void check_grids(std::size_t one_of = 1) {
  const std::vector<std::array<int, 3>> all = grids(world_size());
  const std::vector<std::string> folders = all_published();
  for (std::size_t f = 0; f < folders.size(); ++f) {
    const Reference reference(folders[f]);
    const Model model = build_model(reference.config.model, reference.config.training, "test");
    const std::int64_t batch = reference.config.training.global_batch_size;
    for (std::size_t i = f % one_of; i < all.size(); i += one_of) {
      const auto [pipeline, data, tensor] = all[i];
      if (pipeline > model.num_layers() || data > batch || tensor > model.divided_units()) continue;
      INFO(folders[f] << ": pipeline " << pipeline << ", data " << data << ", tensor " << tensor);
      const Plan plan =
          reference.plan(pipeline, data, tensor, std::max<std::int64_t>(batch / 2, data), "1f1b");
      check_curve(train_reference(MPI_COMM_WORLD, reference, plan, 20), reference);
    }
  }
}

/// Stages, replicas, shards, ZeRO stages, recomputation, schedules and blocks that are drawn; some
/// with offloading.
void check_drawn(std::uint64_t seed, int number) {
  for (const char* folder :
       {"llama", "qwen2", "gemma", "gemma2", "gemma3-text", "granite", "olmo2", "phi3", "gpt-neox",
        "opt", "bert", "vit", "t5", "mixtral", "qwen2-moe", "vgg", "resnet"}) {
    const Reference reference(folder);
    const Model model = build_model(reference.config.model, reference.config.training, "test");
    RandomShapes shapes(seed, DrawnBlocks::some,
                        {model.num_layers(), reference.config.training.global_batch_size,
                         axes_of(model), reference.micro_batch_size});
    for (int i = 0; i < number; ++i) {
      Plan plan = shapes.plan(world_size());
      for (Stage& stage : plan.stages) {
        stage.offload = i % 2 == 0;
        stage.offload_activations = i % 3 == 0;
      }
      INFO("plan " << i << " of seed " << seed << ", " << folder);
      check_curve(
          train_reference(MPI_COMM_WORLD, reference, plan, 20, shapes.machine(plan, world_size())),
          reference);
    }
  }
}

}  // namespace

TEST_CASE("published models have the parameters that transformers counts", "[np1]") {
  for (const std::string& folder : all_published()) {
    INFO(folder);
    const Reference reference(folder);
    CHECK(build_model(reference.config.model, reference.config.training, "test").num_parameters() ==
          reference.num_parameters);
  }
}

TEST_CASE("published models train as transformers does", "[np1]") { check_grids(); }
TEST_CASE("published models train as transformers does on two ranks", "[np2]") { check_grids(); }
TEST_CASE("published models train as transformers does on four ranks", "[np4]") { check_grids(); }
TEST_CASE("published models train as transformers does on eight ranks", "[np8]") { check_grids(2); }
TEST_CASE("published models train as transformers does on every grid of eight ranks",
          "[np8][long]") {
  check_grids();
}

TEST_CASE("published models train by plans that are drawn", "[np4]") { check_drawn(5, 4); }
TEST_CASE("published models train by plans that are drawn for eight ranks", "[np8]") {
  check_drawn(6, 4);
}
TEST_CASE("published models train by twenty plans that are drawn", "[np8][long]") {
  check_drawn(7, 20);
}

TEST_CASE("every schedule trains a published model", "[np4]") {
  const Reference reference("llama");
  for (const Kind& kind : kinds) {
    const int chunks = kind.chunks.front();
    INFO(kind.schedule);
    check_curve(train_reference(MPI_COMM_WORLD, reference,
                                reference.plan(2, 1, 2, 2, kind.schedule, chunks), 20),
                reference);
  }
}
