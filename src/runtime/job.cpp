#include "runtime/job.hpp"

#include <algorithm>
#include <cmath>
#include <memory>

#include "base/error.hpp"
#include "base/log.hpp"
#include "base/units.hpp"
#include "cluster/read.hpp"
#include "comm/alarm.hpp"
#include "comm/collective.hpp"
#include "comm/mpi.hpp"
#include "cost/transfer_forms.hpp"
#include "io/parameters.hpp"
#include "io/run_directory.hpp"
#include "plan/match.hpp"
#include "runtime/datasets.hpp"
#include "runtime/emulation/emulated_device.hpp"
#include "runtime/executable.hpp"
#include "runtime/profiler.hpp"
#include "runtime/recorder.hpp"
#include "runtime/rehearse.hpp"
#include "runtime/session.hpp"

namespace pptrain {
namespace {

/// Batches that one evaluation takes at most.
constexpr std::int64_t most_batches = 8;

/// The job of one rank from the plan on.
class Trainer {
 public:
  Trainer(MPI_Comm world, Waiter& waiter, const Config& config, const Model& model, const Machine& machine,
          const Plan& plan, const SessionOptions& options, const Datasets& datasets, Recorder& recorder)
      : config_(config),
        datasets_(datasets),
        recorder_(recorder),
        session_(world, config, model, plan, machine.map, machine.core_use, options) {
    collectively(world, waiter, [&] { initialise(); });
    if (config.metrics.trace) session_.record(&trace_);
  }

  std::size_t peak_bytes() { return session_.arena().peak_bytes(); }

  void run() {
    for (std::int64_t step = 0; step < config_.training.steps; ++step) {
      const IterationResult result = session_.train(
          step, [&](std::int64_t sample, const SampleSlot& slot) { datasets_.train->sample(step, sample, slot); });
      recorder_.record(step, result, session_.learning_rate_of(step), session_.arena().peak_bytes());
      if (!std::isfinite(result.loss)) {
        // Every rank knows the loss, so all leave here.
        throw Error(ExitCode::other,
                    format_complaint({fmt::format("step {}", step + 1), "the loss is no number any more",
                                      "the training diverged", "lower [optimizer] learning_rate"}));
      }
      if (evaluates_after(step)) recorder_.record_evaluation(step, evaluate());
    }
    if (config_.metrics.trace) recorder_.write_trace(trace_);
  }

 private:
  void initialise() {
    if (session_.device() == nullptr) return;
    DeviceModel& device = *session_.device();
    if (config_.model.initial_parameters.empty()) {
      for (const auto& part : device.parts()) {
        fill_random(part->parameters(), static_cast<std::uint64_t>(config_.job.seed));
      }
      return;
    }
    const ParameterFile file(config_.model.initial_parameters);
    std::string loaded;
    std::vector<float> whole;
    device.fill([&](const ParameterSpec& spec, Interval run, float* out) {
      if (loaded != spec.name) whole = file.read(spec.name, spec.shape);
      loaded = spec.name;
      std::copy_n(whole.begin() + run.begin, run.size(), out);
    });
  }

  bool evaluates_after(std::int64_t step) const {
    if (datasets_.validation == nullptr) return false;
    const std::int64_t interval = config_.metrics.evaluation_interval;
    return step + 1 == config_.training.steps || (interval > 0 && (step + 1) % interval == 0);
  }

  /// Mean loss over whole batches from the start of the held-back data.
  double evaluate() {
    const std::int64_t batch = config_.training.global_batch_size;
    const std::int64_t batches = std::clamp<std::int64_t>(datasets_.validation->num_windows() / batch, 1, most_batches);
    double sum = 0.0;
    for (std::int64_t b = 0; b < batches; ++b) {
      sum += session_.evaluate(
          [&](std::int64_t sample, const SampleSlot& slot) { datasets_.validation->window(b * batch + sample, slot); });
    }
    return sum / static_cast<double>(batches);
  }

  const Config& config_;
  const Datasets& datasets_;
  Recorder& recorder_;
  Session session_;
  Trace trace_;  ///< of the last iteration
};

}  // namespace

void train(MPI_Comm world, const JobOptions& options) {
  Waiter waiter = make_waiter(world);
  const int rank = rank_in(world);
  const Config config = load_config(world, waiter, options);
  if (emulation_of(world, waiter, cluster_file(options, config)) == Emulate::timing) {
    rehearse(world, waiter, options, config);
    return;
  }
  const Model model = build_model(config.model, config.training, config.source);
  Datasets datasets;
  collectively(world, waiter, [&] {
    datasets = open_datasets(config);
    if (rank == 0) check_output_directory(config.job.output, config.where("job.output"));
  });
  const Machine machine = find_machine(world, waiter, cluster_file(options, config));
  if (rank == 0) print_result("Cluster\n" + describe_cluster(machine.cluster) + "\n");
  const std::optional<Plan> named = named_plan(world, waiter, config, model, machine);
  if (!named) collectively(world, waiter, [&] { check_parallelism(config, model, machine.cluster); });
  const Profile profile = obtain_profile(world, waiter, options, config, model, machine, named);
  const Plan plan = choose_plan(world, waiter, config, machine, profile);
  // A profile from a file may have degrees that the model has not.
  check_plan_matches(plan, model, machine.cluster, config.training.global_batch_size, "the plan that was found");
  check_blocks_executable(plan, model, "the plan that was found");
  if (options.dry_run) {
    if (rank == 0) log_info("Dry run: stopping before training; nothing was written");
    return;
  }
  // From here on no rank takes long, so that the configured timeout holds.
  Alarm alarm(world);
  Waiter patience(config.job.timeout, machine.core_use);
  patience.listen(&alarm);
  patience.name_place([rank] { return fmt::format("rank {}", rank); });
  std::unique_ptr<Recorder> recorder;
  collectively(world, waiter, [&] {
    recorder = std::make_unique<Recorder>(world, patience, config, model.flop_per_sample(), machine, profile, plan);
  });
  const Instance instance = {profile, machine.cluster, config.training.global_batch_size,
                             tied_embedding(config, profile)};
  SessionOptions session;
  session.alarm = &alarm;
  session.forms = cheapest_forms(instance, plan);
  std::unique_ptr<EmulatedDevice> emulated;  // null where ranks are the devices that they are
  if (machine.cluster.emulate == Emulate::numbers) {
    emulated = std::make_unique<EmulatedDevice>(world, instance, plan, machine.map, patience);
    emulated->apply_to(session);
  }
  Trainer trainer(world, waiter, config, model, machine, plan, session, datasets, *recorder);
  trainer.run();
  recorder->finish(trainer.peak_bytes());
}

}  // namespace pptrain
