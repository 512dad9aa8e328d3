// Training in 16 bits: as near to fp32 as it has to be, on every grid, and fp16 with a loss scale
// that finds its value.
#include <cmath>
#include <cstring>
#include <functional>
#include <map>
#include <set>

#include "base/error.hpp"
#include "comm/collective.hpp"
#include "comm/mpi.hpp"
#include "io/checkpoint/checkpoint_file.hpp"
#include "job_folder.hpp"
#include "noisy_text.hpp"
#include "overflowing.hpp"
#include "reference.hpp"
#include "support/catch.hpp"

using namespace pptrain;
using namespace pptrain::test;

namespace {

Session session_of(const Config& config, const Plan& plan, const SessionOptions& options = {}) {
  const Model model = build_model(config.model, config.training, "test");
  return {MPI_COMM_WORLD, config, model, plan, RankMap::identity(plan.num_devices()), options};
}

std::vector<double> losses_of(Precision precision, int steps) {
  const Config config = small_job(precision);
  Session session = session_of(config, uniform_plan({{0, 4}}, 1, 1, 8, 8, "1f1b"));
  fill_random(session.device()->parameters(), 1);
  std::vector<double> losses;
  for (int step = 0; step < steps; ++step)
    losses.push_back(session.train(step, noisy_text(config, step)).loss);
  CHECK(session.loss_scale().state().skipped_steps == 0);
  return losses;
}

Plan with_zero(Plan plan, int zero_stage) {
  for (Stage& stage : plan.stages) stage.zero_stage = zero_stage;
  return plan;
}

/// Trains with gradients that overflow in some steps (from 0), through and again from the
/// checkpoint after `half` of the steps: `scales` are the loss scales of the steps, `kept` is what
/// the checkpoint has to hold.
void check_resumed(const std::set<int>& overflowing_steps, int half,
                   const std::vector<double>& scales, const LossScale::State& kept) {
  const JobFolder folder;
  const std::vector<std::string> settings = {
      "training.precision=fp16", "training.micro_batch_size=4", "parallelism.data=2",
      fmt::format("checkpoint.interval={}", half), fmt::format("training.steps={}", scales.size())};
  // The backward passes of a rank's blocks: 2 micro-batches a step, 2 blocks.
  constexpr int passes_per_step = 4;
  int passes = 0;
  bool overflows = false;
  const LayerFactory layers = [&](const Layer& layer, ChunkId chunk,
                                  LayerContext& context) -> std::unique_ptr<LayerModule> {
    auto real = overflowing(overflows)(layer, chunk, context);
    if (layer.reads_samples() || layer.computes_loss()) return real;
    return std::make_unique<CountingLayer>(std::move(real), [&] {
      const int step = passes++ / passes_per_step;
      overflows = world_rank() == 1 && overflowing_steps.contains(step);
    });
  };
  train(MPI_COMM_WORLD, folder.options(settings), layers);
  CHECK(passes == passes_per_step * static_cast<int>(scales.size()));
  std::string run;
  if (world_rank() == 0) run = folder.run().string();
  Waiter waiter(600.0, CoreUse::shared);
  run = broadcast(MPI_COMM_WORLD, run, waiter);
  const auto checkpoint = [](const std::string& of_run, std::size_t step) {
    return fmt::format("{}/checkpoints/step-{}.h5", of_run, step);
  };
  const CheckpointHead head = read_checkpoint_head(checkpoint(run, half));
  CHECK(LossScale::State{head.state.loss_scale, head.state.good_steps, head.state.skipped_steps} ==
        kept);
  passes = passes_per_step * half;
  std::vector<std::string> again = settings;
  again.push_back("job.output=" + folder.path() + "/again");
  JobOptions options = folder.options(again);
  options.resume = checkpoint(run, half);
  train(MPI_COMM_WORLD, options, layers);
  if (world_rank() != 0) return;
  const fs::path resumed = folder.run("again");
  for (const char* series : {"/steps/loss", "/steps/loss_scale"}) {
    CHECK(read_series(resumed / "metrics.h5", series) ==
          read_series(fs::path(run) / "metrics.h5", series));
  }
  CHECK(read_series(resumed / "metrics.h5", "/steps/loss_scale") == scales);
  CHECK(values_digest(read_checkpoint_head(checkpoint(resumed, scales.size()))) ==
        values_digest(read_checkpoint_head(checkpoint(run, scales.size()))));
}

}  // namespace

TEST_CASE("fp16 and bf16 train a small model as fp32 does", "[np1]") {
  constexpr int steps = 200;
  const std::vector<double> fp32 = losses_of(Precision::fp32, steps);
  CHECK(fp32.back() < 0.8 * fp32.front());
  for (const Precision precision : {Precision::bf16, Precision::fp16}) {
    INFO(to_string(precision));
    const std::vector<double> losses = losses_of(precision, steps);
    CHECK(losses != fp32);
    for (int step = 0; step < steps; ++step)
      REQUIRE(losses[step] == Approx(fp32[step]).epsilon(0.01));
  }
}

TEST_CASE("a step whose gradients overflow on one rank leaves no trace but a smaller loss scale",
          "[np4]") {
  const Config config = small_job(Precision::fp16);
  bool overflows = false;
  SessionOptions options;
  options.layers = overflowing(overflows);
  for (const int zero_stage : {0, 1, 2, 3}) {
    INFO("ZeRO " << zero_stage);
    const Plan plan = with_zero(uniform_plan(even_division(4, 2), 2, 1, 8, 4, "1f1b"), zero_stage);
    Session session = session_of(config, plan, options);
    fill_random(session.device()->parameters(), 1);
    const std::vector<float> before = state_of(session);
    overflows = rank_in(MPI_COMM_WORLD) == 2;
    const IterationResult skipped = session.train(0, noisy_text(config, 0));
    overflows = false;
    CHECK(skipped.skipped);
    CHECK(skipped.loss_scale == 65536.0);
    CHECK(std::isfinite(skipped.loss));
    CHECK(session.loss_scale().state() == LossScale::State{32768.0, 0, 1});
    const std::vector<float> after = state_of(session);
    CHECK(std::memcmp(after.data(), before.data(), before.size() * sizeof(float)) == 0);
    const IterationResult next = session.train(1, noisy_text(config, 1));
    CHECK_FALSE(next.skipped);
    CHECK(next.loss_scale == 32768.0);
    // A session that begins with that step and scale, whose optimizer has seen as much, gives the
    // same.
    Session other = session_of(config, plan, options);
    fill_random(other.device()->parameters(), 1);
    other.loss_scale().restore({32768.0, 0, 0});
    const IterationResult first = other.train(0, noisy_text(config, 1));
    CHECK(first.loss == next.loss);
    CHECK(first.grad_norm == next.grad_norm);
    const std::vector<float> expected = state_of(other), found = state_of(session);
    CHECK(std::memcmp(found.data(), expected.data(), expected.size() * sizeof(float)) == 0);
    CHECK(std::memcmp(found.data(), before.data(), before.size() * sizeof(float)) != 0);
  }
}

TEST_CASE("the norm of fp16 gradients is that of fp32 ones, whatever the loss scale", "[np1]") {
  const Plan plan = uniform_plan({{0, 4}}, 1, 1, 8, 8, "1f1b");
  const auto norm = [&](Precision precision, double scale) {
    const Config config = small_job(precision);
    Session session = session_of(config, plan);
    fill_random(session.device()->parameters(), 1);
    session.loss_scale().restore({scale, 1, 0});
    return session.train(0, noisy_text(config, 0)).grad_norm;
  };
  const double expected = norm(Precision::fp32, 1.0);
  for (const double scale : {128.0, 65536.0}) {
    CHECK(norm(Precision::fp16, scale) == Approx(expected).epsilon(2e-3));
  }
  // With one far too small they vanish.
  CHECK(norm(Precision::fp16, 1.0 / 4096) != Approx(expected).epsilon(2e-3));
}

TEST_CASE("fp16 on grids and with ZeRO follows one rank", "[np4]") {
  Reference reference("tied");
  reference.config.training.precision = Precision::fp16;
  reference.config.optimizer.gradient_clip = 0.0;
  constexpr int steps = 10;
  const Curve alone =
      train_reference(MPI_COMM_SELF, reference, reference.plan(1, 1, 1, 4, "1f1b"), steps);
  for (const Plan& plan :
       {reference.plan(4, 1, 1, 2, "1f1b"), reference.plan(2, 2, 1, 4, "zb-h1"),
        reference.plan(1, 2, 2, 4, "gpipe"), reference.plan(1, 4, 1, 4, "1f1b")}) {
    INFO(plan.shape());
    const Curve curve = train_reference(MPI_COMM_WORLD, reference, plan, steps);
    // Sums in another order round some activations to the neighbouring half, 2^-11 of them away.
    CHECK(largest_difference(curve.losses, alone.losses) <= 2e-4);
    if (plan.stages[0].replicas == 1) continue;
    for (const int zero_stage : {1, 2, 3}) {
      INFO("ZeRO " << zero_stage);
      const Curve divided =
          train_reference(MPI_COMM_WORLD, reference, with_zero(plan, zero_stage), steps);
      CHECK(largest_difference(divided.losses, alone.losses) <= 2e-4);
      if (zero_stage == 1) CHECK(divided.losses == curve.losses);
    }
  }
}

TEST_CASE("published models train in 16 bits nearly as in fp32, on one rank and on grids",
          "[np4]") {
  constexpr int steps = 8;
  // Half the distance of neighbouring numbers, relative: a loss may be off as if it alone had been
  // rounded.
  const std::map<Precision, double> roundings = {{Precision::fp16, std::ldexp(1.0, -11)},
                                                 {Precision::bf16, std::ldexp(1.0, -8)}};
  for (const std::string& folder : all_published()) {
    Reference reference(folder);
    const Model model = build_model(reference.config.model, reference.config.training, "test");
    // Roundings of a mean over fewer targets than the 128 of most runs cancel less: eight images
    // are the fewest.
    const auto targets =
        static_cast<double>(reference.config.training.global_batch_size * model.sample.rows);
    const double spread = std::max(1.0, std::sqrt(128.0 / targets));
    for (const auto& [precision, rounding] : roundings) {
      reference.config.training.precision = precision;
      for (const Plan& plan :
           {reference.plan(1, 1, 1, 4, "1f1b"), reference.plan(4, 1, 1, 2, "1f1b"),
            reference.plan(2, 1, 2, 4, "zb-h1"),
            with_zero(reference.plan(1, 2, 2, 4, "gpipe"), 3)}) {
        if (plan.stages[0].tensor_parallel > model.divided_units()) continue;
        INFO(folder << ", " << to_string(precision) << ", " << plan.shape());
        const Curve curve = train_reference(MPI_COMM_WORLD, reference, plan, steps);
        for (std::size_t step = 0; step < steps; ++step) {
          CHECK(curve.losses[step] == Approx(reference.losses[step]).epsilon(rounding * spread));
        }
        CHECK(curve.losses.back() != reference.losses[steps - 1]);  // something is rounded
      }
    }
  }
}

TEST_CASE("the loss scale of a job goes on from a checkpoint bit for bit", "[np2]") {
  check_resumed({1, 2, 7}, 6, {65536, 65536, 32768, 16384, 16384, 16384, 16384, 16384, 8192, 8192},
                {16384.0, 3, 2});
}

TEST_CASE("a loss scale that was halved to 1 in the last step before a checkpoint goes on from it",
          "[np2]") {
  std::set<int> steps;
  std::vector<double> scales;
  for (double scale = LossScale::first; scale > 1.0; scale /= 2.0) {
    steps.insert(static_cast<int>(scales.size()));
    scales.push_back(scale);
  }
  const int half = static_cast<int>(scales.size());
  scales.insert(scales.end(), 4, 1.0);
  check_resumed(steps, half, scales, {1.0, 0, half});
}

TEST_CASE("a job whose gradients always overflow ends with a reason", "[np2]") {
  const JobFolder folder;
  const bool always = true;
  const std::vector<std::string> settings = {"training.precision=fp16", "training.steps=40",
                                             "parallelism.data=2"};
  const auto failure = [&](const std::string& scale) {
    try {
      std::vector<std::string> with_scale = settings;
      with_scale.push_back("training.loss_scale=" + scale);
      train(MPI_COMM_WORLD, folder.options(with_scale), overflowing(always));
    } catch (const Error& error) {
      CHECK(error.code() == ExitCode::runtime_failure);
      return std::string(error.what());
    }
    return std::string();
  };
  // 2^16 is halved 17 times.
  CHECK(failure("dynamic").starts_with(
      "step 17: the gradients are not finite, however small the loss scale"));
  CHECK(failure("1024").starts_with("step 1: the gradients are not finite with loss_scale = 1024"));
}

TEST_CASE(
    "gradients that travel in bf16 train nearly as in fp32, equally in every run and with ZeRO",
    "[np4]") {
  Reference reference("tied");
  reference.config.optimizer.gradient_clip = 0.0;
  const int steps = static_cast<int>(reference.config.training.steps);
  const Plan plan = reference.plan(1, 4, 1, 8, "1f1b");
  const Curve fp32 = train_reference(MPI_COMM_WORLD, reference, plan, steps);
  reference.config.training.gradient_precision = GradientPrecision::bf16;
  const Curve bf16 = train_reference(MPI_COMM_WORLD, reference, plan, steps);
  CHECK(bf16.losses.front() == fp32.losses.front());
  CHECK(bf16.losses != fp32.losses);
  // A gradient is off by 2^-9 of itself at most, twice; AdamW's steps hang on little more than its
  // sign.
  CHECK(largest_difference(bf16.losses, fp32.losses) <= 1e-3);
  CHECK(bf16.peak_bytes <= fp32.peak_bytes);
  CHECK(train_reference(MPI_COMM_WORLD, reference, plan, steps).losses == bf16.losses);
  for (const int zero_stage : {1, 2, 3}) {
    INFO("ZeRO " << zero_stage);
    CHECK(train_reference(MPI_COMM_WORLD, reference, with_zero(plan, zero_stage), steps).losses ==
          bf16.losses);
  }
  // In two levels every level rounds once.
  SessionOptions options;
  options.nodes = {0, 0, 1, 1};
  const Curve in_nodes = train_reference(MPI_COMM_WORLD, reference, plan, steps, options);
  CHECK(largest_difference(in_nodes.losses, fp32.losses) <= 1e-3);
  CHECK(train_reference(MPI_COMM_WORLD, reference, plan, steps, options).losses == in_nodes.losses);
}
