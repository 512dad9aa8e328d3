#include "runtime/record/recorder.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <limits>
#include <optional>
#include <set>
#include <sstream>

#include "base/error.hpp"
#include "base/log.hpp"
#include "base/names.hpp"
#include "base/timing.hpp"
#include "base/units.hpp"
#include "cluster/peak_rate.hpp"
#include "cluster/read.hpp"
#include "comm/collective.hpp"
#include "config/read.hpp"
#include "io/checkpoint/checkpoint_model.hpp"
#include "io/export/export_model.hpp"
#include "io/keys.hpp"
#include "kernels/gemm.hpp"
#include "plan/used_devices.hpp"
#include "pptrain_version.hpp"
#include "runtime/places/rank_places.hpp"
#include "runtime/places/role.hpp"

namespace pptrain {
namespace {

std::string devices_of(const Cluster& cluster) {
  std::string devices;
  for (const NodeGroup& group : cluster.groups) {
    devices += fmt::format("{}{} x {}", devices.empty() ? "" : ", ",
                           group.count * group.num_devices, group.device_kind);
  }
  return devices;
}

std::string command_line() {
  std::string text;
  std::ifstream arguments("/proc/self/cmdline", std::ios::binary);
  for (std::string word; std::getline(arguments, word, '\0');)
    text += (text.empty() ? "" : " ") + shell_word(word);
  return text;
}

std::string mpi_version() {
  char text[MPI_MAX_LIBRARY_VERSION_STRING] = {};
  int length = 0;
  MPI_Get_library_version(text, &length);
  return {text, static_cast<std::size_t>(length)};
}

/// "2026-11-21T23:14:05+0000".
std::string start_time() {
  const std::time_t now = std::time(nullptr);
  std::tm local = {};
  ::localtime_r(&now, &local);
  char text[32] = {};
  std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S%z", &local);
  return text;
}

std::map<std::string, std::string> environment_of(const Machine& machine, const Backend& backend) {
  const char* job = std::getenv("SLURM_JOB_ID");
  return {{"pptrain_version", PPTRAIN_VERSION},
          {"mpi_version", mpi_version()},
          {"hdf5_version", H5_VERS_INFO},
          {"gemm", backend.gemm.name()},
          {"hosts", join(machine.hosts, ",")},
          {"devices", devices_of(machine.cluster)},
          {"job_id", job == nullptr ? "" : job},
          {"command_line", command_line()},
          {"started", start_time()},
          {"attention", backend.attention.name()},
          {"device", backend.device.name()}};
}

/// Removes what the job that a run goes on from has left there and would be taken for this one's.
void forget_iterations_and_plans(const std::string& directory) {
  namespace fs = std::filesystem;
  std::error_code ignored;
  for (const fs::directory_entry& entry : fs::directory_iterator(directory, ignored)) {
    const std::string name = entry.path().filename();
    if (name == "trace.json" || name.starts_with("plan-after-")) fs::remove(entry.path(), ignored);
  }
}

std::shared_ptr<RunDirectory> open_directory(const Config& config, const RunStart& begins) {
  if (begins.claimed) {
    begins.claimed->check_writable();
    return begins.claimed;
  }
  if (!begins.run_directory.empty()) {
    log_warning("{}: another job runs in this run directory; going on in a new one",
                begins.run_directory);
  }
  return std::make_shared<RunDirectory>(config.job.output, config.job.name,
                                        config.where("job.output"));
}

}  // namespace

RecordedModel recorded(const Model& model) {
  return {model.flop_per_sample(), ExpertLoads(model).columns()};
}

Recorder::Recorder(MPI_Comm world, Waiter& waiter, const RecordedRun& run)
    : world_(world),
      waiter_(waiter),
      config_(run.config),
      plan_(run.plan),
      map_(run.machine.map),
      kind_(run.kind),
      begins_(run.begins),
      tokens_per_step_(
          static_cast<double>(config_.training.global_batch_size *
                              (kind_ == RunKind::training ? config_.rows_per_sample() : 1))),
      flop_per_step_(run.model.flop_per_sample *
                     static_cast<double>(config_.training.global_batch_size)),
      experts_(run.model.experts),
      cluster_(run.machine.cluster),
      peak_flop_rate_(peak_of_used_devices()) {
  MPI_Comm_rank(world, &rank_);
  MPI_Comm_size(world, &num_ranks_);
  if (rank_ != 0) return;
  directory_ = open_directory(config_, begins_);
  directory_->name_latest();
  forget_iterations_and_plans(directory_->path());
  directory_->write("config.toml", write_config(config_));
  if (!config_.model.from.empty())
    copy_model_files(config_.model.from, config_.model.description,
                     directory_->file(model_folder_name));
  directory_->write("plan.json", write_plan(plan_));
  directory_->write("profile.json", write_profile(run.profile));
  directory_->write("cluster.toml", write_cluster(run.machine.cluster));
  add_log_file(directory_->file("log.txt"));
  open_metrics(environment_of(run.machine, run.backend));
  progress_ =
      std::make_unique<Progress>(begins_.step, config_.training.steps, tokens_per_step_, unit());
  log_info("Run directory: {}", directory_->path());
}

void Recorder::open_metrics(std::map<std::string, std::string> environment) {
  environment["resumed_from"] = begins_.checkpoint;
  for (const std::string& name : io_keys::environment.names()) {
    PPTRAIN_ASSERT(environment.contains(name), "{} is described and not written", name);
  }
  PPTRAIN_ASSERT(environment.size() == io_keys::environment.keys.size(),
                 "an attribute is not described");
  const std::string path = directory_->file("metrics.h5");
  std::optional<MetricsHistory> history;
  if (begins_.step > 0) history.emplace();
  try {
    if (!begins_.metrics.empty()) history = read_metrics_history(begins_.metrics, begins_.step);
  } catch (const Hdf5Failure& failure) {
    log_warning("{}: the series so far cannot be read ({}); they begin anew", begins_.metrics,
                failure.what());
  }
  metrics_ = std::make_unique<MetricsFile>(path, num_ranks_, write_plan(plan_), environment,
                                           history ? &*history : nullptr, experts_);
}

void Recorder::record_places(const Machine& machine, const std::vector<std::string>& ways) {
  const std::vector<RankPlace> places = rank_places(world_, waiter_, machine.map, plan_);
  collectively(world_, waiter_, [&] {
    if (rank_ != 0) return;
    // On one host it says nothing that the plan does not; with it every line stays on the screen
    // before the first step.
    const std::string text = describe_places(places, machine.cluster);
    machine.hosts.size() > 1 ? print_step(text) : print_detail(text);
    directory_->write("placement.json", places_to_json(places, machine.cluster));
  });
  std::set<std::string> told;
  for (const std::string& of_rank : gather(world_, join(ways, "\n"), waiter_)) {
    std::istringstream lines(of_rank);
    for (std::string line; std::getline(lines, line);) {
      if (told.insert(line).second) print_step(fmt::format("  {}\n", line));
    }
  }
}

void Recorder::record(std::int64_t step, const IterationResult& result, double learning_rate,
                      std::size_t peak_bytes) {
  if (rank_ == 0) {
    iteration_seconds_.push_back(result.seconds);
    if (step == begins_.step) losses_.first = result.loss;
    losses_.last = result.loss;
    progress_->step(step,
                    kind_ == RunKind::training
                        ? fmt::format("loss {}  lr {:.2e}", loss_text(result.loss), learning_rate)
                        : format_seconds(result.seconds));
  }
  const std::int64_t interval = std::max<std::int64_t>(1, config_.metrics.interval);
  if (step % interval != 0 && step + 1 != config_.training.steps) return;
  const std::vector<double> of_ranks =
      gather(world_,
             std::vector<double>{result.compute_seconds(), result.communication_seconds,
                                 result.idle_seconds, static_cast<double>(peak_bytes)},
             waiter_);
  if (rank_ != 0) return;
  add_times(step, of_ranks);
  write_step(step, result, learning_rate, of_ranks);
}

void Recorder::add_times(std::int64_t step, const std::vector<double>& of_ranks) {
  rank_totals_.add(of_ranks);
  const bool is_first = step == begins_.step;
  std::optional<SpentTimes>& kept = is_first ? first_times_ : later_times_;
  if (!kept) kept.emplace();
  kept->of_first_step = is_first && kind_ == RunKind::training;
  kept->ranks_left_out = 0;
  for (int r = 0; r < num_ranks_; ++r) {
    if (!has_place(r)) {
      ++kept->ranks_left_out;
      continue;
    }
    const double* seconds = of_ranks.data() + std::ptrdiff_t{4} * r;
    kept->compute += seconds[0];
    kept->communication += seconds[1];
    kept->idle += seconds[2];
  }
}

double Recorder::peak_of_used_devices() const {
  return peak_flop_rate(cluster_, used_devices(plan_, cluster_.num_devices()),
                        to_string(config_.training.precision));
}

bool Recorder::has_place(int rank) const {
  return role_of(plan_, map_.device_of(RankId(rank))).has_value();
}

void Recorder::write_step(std::int64_t step, const IterationResult& result, double learning_rate,
                          const std::vector<double>& of_ranks) {
  StepMetrics metrics;
  metrics.step = step + 1;
  const bool has_numbers = kind_ == RunKind::training;
  constexpr double none = std::numeric_limits<double>::quiet_NaN();
  metrics.loss = has_numbers ? result.loss : none;
  metrics.grad_norm = has_numbers ? result.grad_norm : none;
  metrics.learning_rate = has_numbers ? learning_rate : none;
  metrics.loss_scale = result.loss_scale;
  metrics.experts_balance =
      has_numbers && config_.training.router_aux_loss > 0.0 ? result.balance : none;
  metrics.iteration_seconds = result.seconds;
  metrics.tokens_per_second = has_numbers ? tokens_per_step_ / result.seconds : none;
  metrics.model_flops_utilization =
      utilisation(flop_per_step_ / result.seconds, peak_flop_rate_).value_or(none);
  std::vector<RankMetrics> ranks;
  for (int r = 0; r < num_ranks_; ++r) {
    const double* values = of_ranks.data() + 4 * r;
    ranks.push_back({values[0], values[1], values[2], static_cast<std::int64_t>(values[3])});
    metrics.peak_bytes = std::max(metrics.peak_bytes, ranks.back().peak_bytes);
  }
  std::vector<std::int64_t> expert_rows(static_cast<std::size_t>(experts_.size()), missing_integer);
  if (has_numbers) expert_rows.assign(result.expert_rows.begin(), result.expert_rows.end());
  metrics_->append_step(metrics, ranks, expert_rows);
}

void Recorder::record_loss_scale(std::int64_t step, const IterationResult& result, double next) {
  if (rank_ != 0) return;
  progress_->finish();
  if (result.skipped) {
    log_info(
        "step {}: the gradients are not finite and the step is skipped; loss scale {:.8g} to "
        "{:.8g}",
        step + 1, result.loss_scale, next);
  } else {
    log_info("step {}: loss scale {:.8g} to {:.8g}", step + 1, result.loss_scale, next);
  }
}

void Recorder::record_evaluation(std::int64_t step, double loss, const std::string& part) {
  if (rank_ != 0) return;
  losses_.held_back = loss;
  progress_->evaluation(step, loss, part);
  metrics_->append_evaluation(step + 1, loss);
}

void Recorder::record_drift(std::int64_t step, int rank, double factor) {
  if (rank_ != 0) return;
  progress_->finish();
  metrics_->append_drift(step + 1, rank, factor);
}

void Recorder::write_late(const std::string& name, const std::string& content) const {
  try {
    directory_->write(name, content);
  } catch (const Error& error) {
    log_warning("{}; the training goes on", error.what());
  }
}

void Recorder::record_plan(std::int64_t step, const Plan& plan) {
  plan_ = plan;
  peak_flop_rate_ = peak_of_used_devices();
  first_of_plan_ = iteration_seconds_.size();
  if (rank_ == 0) write_late(fmt::format("plan-after-{}.json", step + 1), write_plan(plan));
}

void Recorder::record_checkpoint(std::int64_t step, const std::string& path, double bytes,
                                 double seconds) {
  if (rank_ != 0) return;
  progress_->finish();
  log_info("step {}: checkpoint {}, {} in {} ({})", step, path, format_bytes(bytes),
           format_seconds(seconds), format_bandwidth(bytes / std::max(seconds, 1e-9)));
}

void Recorder::write_trace(const Trace& trace) {
  const std::vector<std::string> of_ranks = gather(world_, chrome_trace(trace), waiter_);
  if (rank_ == 0) write_late("trace.json", merge_chrome_traces(of_ranks));
}

/// Iterations by the present plan, or by the one before where none was done since. The first of
/// several is left out: it begins cold.
void Recorder::add_iterations(RunSummary& summary) const {
  if (iteration_seconds_.empty()) return;
  const std::size_t first = first_of_plan_ < iteration_seconds_.size() ? first_of_plan_ : 0;
  const std::size_t cold = iteration_seconds_.size() - first > 1 ? 1 : 0;
  const std::vector<double> warm(
      iteration_seconds_.begin() + static_cast<std::ptrdiff_t>(first + cold),
      iteration_seconds_.end());
  summary.iterations = static_cast<std::int64_t>(warm.size());
  summary.iteration_seconds = median(warm);
  if (summary.iteration_seconds <= 0.0) return;
  summary.amount_per_second = tokens_per_step_ / summary.iteration_seconds;
  summary.flop_per_second = flop_per_step_ / summary.iteration_seconds;
}

void Recorder::finish(std::size_t peak_bytes) {
  const std::vector<double> peaks =
      gather(world_, std::vector<double>{static_cast<double>(peak_bytes)}, waiter_);
  if (rank_ != 0) return;
  progress_->finish();
  RunSummary summary;
  summary.steps = static_cast<std::int64_t>(iteration_seconds_.size());
  if (kind_ == RunKind::training) summary.losses = losses_;
  add_iterations(summary);
  summary.times = later_times_ ? later_times_ : first_times_;
  summary.unit = unit();
  summary.peak_flop_per_second = peak_flop_rate_;
  summary.peak_bytes = *std::max_element(peaks.begin(), peaks.end());
  if (plan_.predicted) {
    if (first_of_plan_ < iteration_seconds_.size()) {
      summary.predicted_iteration_seconds = plan_.predicted->iteration_seconds;
      summary.trial_iteration_seconds = trial_seconds(plan_);
    }
    const std::vector<double>& bytes = plan_.predicted->peak_bytes;
    if (!bytes.empty())
      summary.predicted_peak_bytes = *std::max_element(bytes.begin(), bytes.end());
  }
  summary.run_directory = directory_->path();
  print_detail(rank_totals_.describe(peaks));
  print_result(describe_summary(summary));
}

}  // namespace pptrain
