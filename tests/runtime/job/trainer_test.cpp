// Numbers that are no numbers: no step applies them, no checkpoint holds them, and what was sound
// before stays.
#include "runtime/job/trainer.hpp"

#include <cstring>

#include "io/checkpoint/checkpoint_file.hpp"
#include "io/checkpoint/checkpoint_folder.hpp"
#include "runtime/job_folder.hpp"
#include "runtime/noisy_text.hpp"
#include "runtime/overflowing.hpp"
#include "support/catch.hpp"

using namespace pptrain;
using namespace pptrain::test;

namespace {

/// What a job throws; exit code 0 where it throws nothing.
std::pair<ExitCode, std::string> end_of(const JobOptions& options,
                                        const LayerFactory& layers = make_layer) {
  try {
    train(MPI_COMM_WORLD, options, layers);
  } catch (const Error& error) {
    return {error.code(), error.what()};
  }
  return {ExitCode::success, ""};
}

/// Names of the checkpoints of the only run, most steps first.
std::vector<std::string> checkpoints_of(const fs::path& run) {
  std::vector<std::string> names;
  for (const std::string& file : CheckpointFolder(run).files()) {
    check_blocks(file, read_checkpoint_head(file));  // what is there is sound
    names.push_back(fs::path(file).filename());
  }
  return names;
}

/// Layers whose gradients overflow from a step on (from 0), in jobs of one block and one
/// micro-batch a step; `passes` counts the steps.
LayerFactory overflowing_from(int step, int& passes, bool& on) {
  return [step, &passes, &on](const Layer& layer, ChunkId chunk,
                              LayerContext& context) -> std::unique_ptr<LayerModule> {
    auto real = overflowing(on)(layer, chunk, context);
    if (layer.reads_samples() || layer.computes_loss()) return real;
    return std::make_unique<CountingLayer>(std::move(real),
                                           [step, &passes, &on] { on = passes++ >= step; });
  };
}

}  // namespace

TEST_CASE("gradients that are no numbers change nothing, in any precision and with any optimizer",
          "[np2]") {
  bool overflows = false;
  SessionOptions options;
  options.layers = overflowing(overflows);
  Plan plan = uniform_plan({{0, 4}}, 2, 1, 8, 8, "1f1b");
  for (const Precision precision : {Precision::fp32, Precision::bf16, Precision::fp16}) {
    for (const char* optimizer : {"adamw", "sgd", "lion", "adafactor", "muon"}) {
      for (const double clip : {0.0, 1.0}) {
        INFO(to_string(precision) << ", " << optimizer << ", clip " << clip);
        Config config = small_job(precision);
        config.optimizer.kind = *optimizer_names().find(optimizer);
        config.optimizer.gradient_clip = clip;
        plan.stages[0].zero_stage = clip > 0.0 ? 1 : 0;
        const Model model = build_model(config.model, config.training, "test");
        Session session(MPI_COMM_WORLD, config, model, plan, RankMap::identity(2), options);
        fill_random(session.device()->parameters(), 1);
        overflows = false;
        session.train(0, noisy_text(config, 0));
        const std::vector<float> before = state_of(session);
        overflows = world_rank() == 1;
        const IterationResult result = session.train(1, noisy_text(config, 1));
        CHECK(result.skipped);
        CHECK_FALSE(std::isfinite(result.grad_norm));
        const std::vector<float> after = state_of(session);
        REQUIRE(after.size() == before.size());
        CHECK(std::memcmp(after.data(), before.data(), before.size() * sizeof(float)) == 0);
      }
    }
  }
}

TEST_CASE("a job whose gradients become no numbers ends, and its last sound checkpoint stays",
          "[np1]") {
  for (const char* precision : {"fp32", "bf16"}) {
    const JobFolder folder;
    int passes = 0;
    bool on = false;
    const auto [code, text] =
        end_of(folder.options({"model.layers=1", "checkpoint.interval=1", "checkpoint.keep=1",
                               "training.micro_batch_size=8",
                               std::string("training.precision=") + precision}),
               overflowing_from(4, passes, on));
    CHECK(code == ExitCode::runtime_failure);
    // The weights of step 4 gave the gradients that are no numbers: those of step 3 are the last
    // that are known to do.
    CHECK_THAT(text,
               Catch::StartsWith("step 5: the gradients are not finite (the training diverged") &&
                   Catch::Contains("lower [optimizer] learning_rate") &&
                   Catch::Contains("go on with --resume") && Catch::Contains("step-3.h5"));
    CHECK(checkpoints_of(folder.run()) == std::vector<std::string>{"step-4.h5", "step-3.h5"});
  }
}

TEST_CASE("a job that ends well keeps as many checkpoints as it was told to", "[np1]") {
  const JobFolder folder;
  const auto [code, text] = end_of(folder.options(
      {"model.layers=1", "checkpoint.interval=1", "checkpoint.keep=1", "training.steps=4"}));
  CHECK(code == ExitCode::success);
  CHECK(checkpoints_of(folder.run()) == std::vector<std::string>{"step-4.h5"});
}

TEST_CASE("a learning rate beyond all numbers ends a job without a checkpoint of what it left",
          "[np1]") {
  for (const char* optimizer : {"adamw", "sgd", "lion"}) {
    INFO(optimizer);
    const JobFolder folder;
    const auto [code, text] =
        end_of(folder.options({"checkpoint.interval=1", "optimizer.learning_rate=1e300",
                               std::string("optimizer.name=") + optimizer}));
    CHECK(code == ExitCode::runtime_failure);
    CHECK_THAT(text, Catch::Contains("learning_rate"));
    CHECK(checkpoints_of(folder.run()).empty());
  }
}

TEST_CASE("a job of fp16 whose every step was skipped has trained nothing and says so", "[np1]") {
  const JobFolder folder;
  const bool always = true;
  const auto [code, text] =
      end_of(folder.options({"training.precision=fp16", "training.steps=3"}), overflowing(always));
  CHECK(code == ExitCode::runtime_failure);
  CHECK_THAT(text, Catch::StartsWith("step 3: every step was skipped and nothing is trained") &&
                       Catch::Contains("65536 to 16384"));
}
