// The whole training on the CUDA back end, on the stand-in, against the host's.
#include <cmath>
#include <filesystem>

#include "comm/alarm.hpp"
#include "comm/mpi.hpp"
#include "cuda/backend.hpp"
#include "runtime/checkpoint/block_transfer.hpp"
#include "runtime/checkpoint/checkpointer.hpp"
#include "runtime/checkpoint/resume.hpp"
#include "runtime/reference.hpp"
#include "runtime/replan/redistribute.hpp"
#include "stand_in.hpp"
#include "support/catch.hpp"

using namespace pptrain;
using namespace pptrain::test;

namespace {

enum class Gpus { own, shared };

constexpr int steps = 3;

/// A GPU for this rank: one of its own, with NCCL, or the one that all share.
struct Gpu {
  std::unique_ptr<GpuBackend> parts;

  explicit Gpu(Gpus gpus) {
    cuda_on_host::set_num_devices(size_of(MPI_COMM_WORLD));
    parts = make_gpu_backend(gpus == Gpus::own ? rank_in(MPI_COMM_WORLD) : 0);
  }
  SessionOptions options() const {
    SessionOptions options = {.backend = parts->backend()};
    options.direct = parts->direct();
    return options;
  }
};

void check_equal(const Reference& reference, const Plan& plan, const Gpu& gpu) {
  INFO(plan.shape());
  const Curve host = train_reference(MPI_COMM_WORLD, reference, plan, steps);
  const Curve device = train_reference(MPI_COMM_WORLD, reference, plan, steps, gpu.options());
  CHECK(largest_difference(device.losses, host.losses) <= 2e-5);
  CHECK(largest_difference(device.grad_norms, host.grad_norms) <= 2e-5 * host.grad_norms.front());
}

Plan with_zero(Plan plan, int zero_stage) {
  for (Stage& stage : plan.stages) stage.zero_stage = zero_stage;
  return plan;
}

}  // namespace

TEST_CASE("one rank trains on a GPU as on the host", "[np1]") {
  const Gpu gpu(Gpus::own);
  for (const char* run : {"untied", "tied", "untied_sgd"}) {
    const Reference reference(run);
    check_equal(reference, reference.plan(1, 1, 1, 4, "1f1b"), gpu);
  }
}

TEST_CASE("ranks that share a GPU train as on the host", "[np8]") {
  const Reference reference("tied");
  const Gpu gpu(Gpus::shared);
  check_equal(reference, reference.plan(2, 2, 2, 2, "1f1b"), gpu);
}

TEST_CASE("ranks with a GPU each train by NCCL as on the host", "[np4]") {
  const Reference reference("tied");
  const Gpu gpu(Gpus::own);
  check_equal(reference, reference.plan(1, 4, 1, 4, "1f1b"), gpu);
  check_equal(reference, reference.plan(1, 2, 2, 2, "1f1b"), gpu);
  check_equal(reference, reference.plan(2, 2, 1, 2, "zb-h1"), gpu);
}

TEST_CASE("ZeRO's stages train on GPUs as on the host, by NCCL and by MPI", "[np4]") {
  const Reference reference("untied");
  for (const Gpus gpus : {Gpus::own, Gpus::shared}) {
    const Gpu gpu(gpus);
    for (const int stage : {1, 2, 3}) check_equal(reference, with_zero(reference.plan(1, 4, 1, 4, "1f1b"), stage), gpu);
  }
}

namespace {

/// A folder that all ranks share; rank 0 makes and removes it.
class SharedFolder {
 public:
  SharedFolder() {
    char name[64] = "/tmp/pptrain-gpu-XXXXXX";
    if (rank_in(MPI_COMM_WORLD) == 0) REQUIRE(mkdtemp(name) != nullptr);
    MPI_Bcast(name, sizeof(name), MPI_CHAR, 0, MPI_COMM_WORLD);
    path_ = name;
  }
  ~SharedFolder() {
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank_in(MPI_COMM_WORLD) == 0) std::filesystem::remove_all(path_);
  }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

/// A checkpoint's file, with the datasets in the model's order.
Resumed resumed_from(const std::string& path, const Model& model, const OptimizerConfig& optimizer) {
  Resumed from;
  from.path = path;
  from.datasets = datasets_of(model, optimizer);
  const CheckpointHead head = read_checkpoint_head(path);
  for (CheckpointDataset& dataset : from.datasets) {
    for (const CheckpointDataset& there : head.datasets) {
      if (there.path == dataset.path) dataset = there;
    }
  }
  return from;
}

}  // namespace

TEST_CASE("state goes from GPUs to a checkpoint and to other plans, on GPUs and on the host", "[np4]") {
  const Reference reference("tied");
  const Model model = build_model(reference.config.model, reference.config.training, "test");
  const std::vector<int> nodes = {0, 0, 1, 1};
  const Gpu gpu(Gpus::own);
  const auto session = [&](const Plan& plan, const SessionOptions& options) {
    return std::make_unique<Session>(MPI_COMM_WORLD, reference.config, model, plan, RankMap::identity(4),
                                     CoreUse::shared, options);
  };
  const Plan divided = with_zero(reference.plan(1, 2, 2, 2, "1f1b"), 2);
  const Plan pipeline = reference.plan(4, 1, 1, 1, "1f1b");
  const auto trained = session(divided, gpu.options());
  reference.fill(*trained);
  for (int step = 0; step < 2; ++step) trained->train(step, reference.samples(step));
  SharedFolder folder;
  Alarm alarm(MPI_COMM_WORLD);
  Checkpointer checkpointer({MPI_COMM_WORLD, reference.config, model, nodes, folder.path(), CoreUse::shared}, alarm);
  CheckpointState state;
  state.step = 2;
  const std::string path = checkpointer.save(state, *trained).path;
  Waiter waiter(60.0, CoreUse::shared);
  const double expected = Reference("tied").losses[2];
  for (const SessionOptions& options : {SessionOptions(), gpu.options()}) {
    const auto loaded = session(pipeline, options);
    load_checkpoint(MPI_COMM_WORLD, waiter, nodes, model, resumed_from(path, model, reference.config.optimizer),
                    *loaded);
    CHECK(std::abs(loaded->train(2, reference.samples(2)).loss - expected) <= 2e-5);
    const auto moved = session(pipeline, options);
    redistribute(MPI_COMM_WORLD, waiter, model, nodes, *trained, *moved);
    CHECK(std::abs(moved->train(2, reference.samples(2)).loss - expected) <= 2e-5);
  }
}
