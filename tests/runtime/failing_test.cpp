// A rank that fails in the midst of a training: all ranks end at once, with what it says.
#include "base/error.hpp"
#include "job_folder.hpp"
#include "runtime/execute/device_model.hpp"

using namespace pptrain;
using namespace pptrain::test;

namespace {

/// Real but for its seventh forward pass, which finds no memory: the first one of step 4, with two
/// micro-batches a step.
class FailingLayer final : public LayerModule {
 public:
  explicit FailingLayer(std::unique_ptr<LayerModule> real) : real_(std::move(real)) {}
  Tensor forward(Batch& batch, Tensor input, SavedPtr* saved) override {
    if (++calls_ == 7)
      throw_runtime_failure(
          {"", "out of device memory: 3 MiB asked for", "the device has 4 MiB", ""});
    return real_->forward(batch, std::move(input), saved);
  }
  Tensor backward_input(const Batch& batch, Tensor gradient, Saved& saved) override {
    return real_->backward_input(batch, std::move(gradient), saved);
  }
  void backward_weight(const Batch& batch, Saved& saved) override {
    real_->backward_weight(batch, saved);
  }

 private:
  std::unique_ptr<LayerModule> real_;
  int calls_ = 0;
};

}  // namespace

TEST_CASE("a rank without memory in an iteration ends the job on all ranks with its message",
          "[np4]") {
  const JobFolder folder;
  const LayerFactory layers = [](const Layer& layer, ChunkId chunk,
                                 LayerContext& context) -> std::unique_ptr<LayerModule> {
    auto real = make_layer(layer, chunk, context);
    if (!layer.computes_loss() || world_rank() != 3) return real;
    return std::make_unique<FailingLayer>(std::move(real));
  };
  // The job has a communicator of its own: messages that it leaves behind never reach the job of
  // the next test.
  MPI_Comm comm = MPI_COMM_NULL;
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  std::string complaint;
  try {
    train(comm,
          // No wait ends because it takes long.
          folder.options({"parallelism.pipeline=2", "parallelism.data=2", "parallelism.tensor=1",
                          "training.micro_batch_size=4", "job.timeout=100 h"}),
          layers);
  } catch (const Error& error) {
    complaint = error.what();
    CHECK(error.code() == ExitCode::runtime_failure);
    CHECK(error.thrown_by() == ThrownBy::all_ranks);
  }
  CHECK(complaint == "rank 3: out of device memory: 3 MiB asked for (the device has 4 MiB)");
  if (world_rank() != 0) return;
  // The metrics hold the steps that were done. Rank 3 begins step 4 once all ranks have begun the
  // gradient sums of step 3, while rank 0 may still be about to write that step.
  std::vector<double> steps = read_series(folder.run() / "metrics.h5", "/steps/step");
  if (steps.size() == 3 && steps.back() == 3.0) steps.pop_back();
  CHECK(steps == std::vector<double>{1.0, 2.0});
}
