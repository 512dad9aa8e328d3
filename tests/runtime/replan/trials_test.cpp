// Plans that are run for a few iterations before one of them is kept.
#include "runtime/replan/trials.hpp"

#include <new>

#include "base/error.hpp"
#include "cost/instances.hpp"
#include "runtime/job_folder.hpp"
#include "runtime/reference.hpp"

using namespace pptrain;
using namespace pptrain::test;

namespace {

/// Whose memory is short.
enum class Short { device, host };

/// Runs out of memory in the forward pass of a layer.
class GreedyLayer final : public LayerModule {
 public:
  explicit GreedyLayer(Short which) : which_(which) {}
  Tensor forward(Batch&, Tensor, SavedPtr*) override {
    if (which_ == Short::host) throw std::bad_alloc();
    throw_runtime_failure({"", "out of device memory: a lot asked for", "the device has less", ""});
  }
  Tensor backward_input(const Batch&, Tensor, Saved&) override { return {}; }
  void backward_weight(const Batch&, Saved&) override {}

 private:
  Short which_;
};

/// Layers of which the last is too large for rank 3 under a plan with whole layers.
LayerFactory greedy_layers(Short which) {
  return [which](const Layer& layer, ChunkId chunk,
                 LayerContext& context) -> std::unique_ptr<LayerModule> {
    auto real = make_layer(layer, chunk, context);
    const bool is_whole = context.tensor_group.size() == 1;
    if (!layer.computes_loss() || !is_whole || world_rank() != 3) return real;
    return std::make_unique<GreedyLayer>(which);
  };
}

/// The reference job; its values do not matter here.
class ReferenceRun final : public PlanRun {
 public:
  ReferenceRun(const Reference& reference, const Model& model, const Plan& plan, Alarm& alarm,
               Short which)
      : reference_(reference),
        session_(MPI_COMM_WORLD, reference.config, model, plan, RankMap::identity(4),
                 options(alarm, which)) {}
  double iterate(std::int64_t step) override {
    return session_.train(step, reference_.samples(step)).seconds;
  }
  double peak_bytes() override { return static_cast<double>(session_.arena().peak_bytes()); }

 private:
  static SessionOptions options(Alarm& alarm, Short which) {
    SessionOptions made;
    made.layers = greedy_layers(which);
    made.alarm = &alarm;
    return made;
  }

  const Reference& reference_;
  Session session_;
};

}  // namespace

TEST_CASE("a plan that a rank has no memory for is dropped with the reason, and the next one runs",
          "[np4]") {
  const Reference reference("untied");
  const Model model = build_model(reference.config.model, reference.config.training, "test");
  Machine machine = {nodes_of(1, 4, 1e9), RankMap::identity(4), CoreUse::shared};
  Waiter waiter(600.0, CoreUse::shared);
  const auto job_short_of = [&](Short which) {
    return TrialJob{MPI_COMM_WORLD, waiter, machine, [&, which](const Plan& plan, Alarm& alarm) {
                      return std::make_unique<ReferenceRun>(reference, model, plan, alarm, which);
                    }};
  };
  const Plan whole = reference.plan(2, 2, 1, 2, "1f1b");
  const Trial without_host = try_plan(job_short_of(Short::host), whole, 3);
  CHECK(without_host.why_not.find("the host gave no memory") != std::string::npos);
  CHECK_FALSE(without_host.seconds);

  const TrialJob job = job_short_of(Short::device);
  const Trial greedy = try_plan(job, whole, 3);
  CHECK(greedy.why_not.find("out of device memory") != std::string::npos);
  CHECK_FALSE(greedy.seconds);

  const Plan modest = reference.plan(2, 1, 2, 2, "1f1b");
  const Trial trial = try_plan(job, modest, 3);
  CHECK(trial.why_not.empty());
  const Plan kept = fastest_plan(job, {greedy.plan, modest}, 2);
  CHECK(same_plan(kept, modest));
  REQUIRE(kept.alternatives.size() == 2);
  CHECK_FALSE(kept.alternatives[0].feasible);
  CHECK(kept.alternatives[1].measured_seconds.value() > 0.0);
  if (world_rank() == 0) CHECK(trial.seconds.value() > 0.0);

  machine.cluster.device_kinds[0].memory = 1024.0;
  const Trial large = try_plan(job, modest, 2);
  if (world_rank() == 0) CHECK(large.why_not.find("device") != std::string::npos);
  CHECK_FALSE(large.seconds);
}

TEST_CASE("trials are told with the rank correlation", "[np1]") {
  std::vector<Trial> trials(3);
  for (int t = 0; t < 3; ++t) {
    trials[t].plan = uniform_plan(even_division(6, t + 1), 1, 1, 8, 2, "1f1b");
    trials[t].plan.predicted.emplace().iteration_seconds = 1.0 + t;
    trials[t].seconds = 5.0 - t;
  }
  const std::string text = describe_trials(trials);
  CHECK(text.find("rank correlation of predicted and measured: -1.00") != std::string::npos);
  trials[1].seconds.reset();
  trials[1].why_not = "too large";
  CHECK(describe_trials(trials).find("not possible: too large") != std::string::npos);
  CHECK(describe_trials(trials).find("correlation") == std::string::npos);
}

TEST_CASE("a job with trials keeps one of several plans and trains as it would without", "[np4]") {
  const JobFolder folder;
  train(MPI_COMM_WORLD, folder.options({"planner.trials=3", "planner.trial_steps=3"}));
  const std::string file = folder.run() / "plan.json";
  train(MPI_COMM_WORLD,
        folder.options({"parallelism.plan=" + file, "job.output=" + folder.path() + "/again"}));
  if (world_rank() != 0) return;
  const Plan plan = read_plan(file);
  double least = 1e9;
  int tried = 0;
  for (const Alternative& other : plan.alternatives) {
    if (other.planner != "trial") continue;
    ++tried;
    least = std::min(least, other.measured_seconds.value());
  }
  CHECK(tried == 3);
  CHECK(least > 0.0);
  const std::vector<double> losses = read_series(folder.run() / "metrics.h5", "/steps/loss");
  CHECK(losses.size() == 12);
  CHECK(read_series(folder.run("again") / "metrics.h5", "/steps/loss") == losses);
}
