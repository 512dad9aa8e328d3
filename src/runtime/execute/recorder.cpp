#include "runtime/execute/recorder.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <optional>

#include "base/log.hpp"
#include "base/timing.hpp"
#include "base/units.hpp"
#include "cluster/read.hpp"
#include "comm/collective.hpp"
#include "config/read.hpp"
#include "kernels/gemm.hpp"
#include "pptrain_version.hpp"
#include "runtime/rank_places.hpp"

namespace pptrain {
namespace {

std::string hosts_of(const Cluster& cluster) {
  std::string hosts;
  for (const NodeGroup& group : cluster.groups) {
    for (const std::string& host : group.hosts) hosts += (hosts.empty() ? "" : ",") + host;
  }
  return hosts;
}

std::string devices_of(const Cluster& cluster) {
  std::string devices;
  for (const NodeGroup& group : cluster.groups) {
    devices +=
        fmt::format("{}{} x {}", devices.empty() ? "" : ", ", group.count * group.num_devices, group.device_kind);
  }
  return devices;
}

std::string command_line() {
  std::string text;
  if (FILE* file = std::fopen("/proc/self/cmdline", "rb")) {
    for (int c = std::fgetc(file); c != EOF; c = std::fgetc(file)) text += c == '\0' ? ' ' : static_cast<char>(c);
    std::fclose(file);
  }
  while (!text.empty() && text.back() == ' ') text.pop_back();
  return text;
}

std::string mpi_version() {
  char text[MPI_MAX_LIBRARY_VERSION_STRING] = {};
  int length = 0;
  MPI_Get_library_version(text, &length);
  return {text, static_cast<std::size_t>(length)};
}

std::map<std::string, std::string> environment_of(const Cluster& cluster) {
  const char* job = std::getenv("SLURM_JOB_ID");
  return {{"pptrain_version", PPTRAIN_VERSION}, {"mpi_version", mpi_version()},   {"gemm", host_gemm().name()},
          {"hosts", hosts_of(cluster)},         {"devices", devices_of(cluster)}, {"job_id", job == nullptr ? "" : job},
          {"command_line", command_line()}};
}

}  // namespace

Recorder::Recorder(MPI_Comm world, Waiter& waiter, const Config& config, double flop_per_sample, const Machine& machine,
                   const Profile& profile, const Plan& plan, RunKind kind, const RunStart& begins)
    : world_(world),
      waiter_(waiter),
      config_(config),
      plan_(plan),
      kind_(kind),
      begins_(begins),
      tokens_per_step_(static_cast<double>(config.training.global_batch_size *
                                           (kind == RunKind::training ? config.rows_per_sample() : 1))),
      flop_per_step_(flop_per_sample * static_cast<double>(config.training.global_batch_size)),
      peak_flop_rate_(peak_flop_rate(machine.cluster, config.training.precision)) {
  MPI_Comm_rank(world, &rank_);
  MPI_Comm_size(world, &num_ranks_);
  if (rank_ != 0) return;
  directory_ = std::make_unique<RunDirectory>(
      begins.run_directory.empty() ? RunDirectory(config.job.output, config.job.name, config.where("job.output"))
                                   : RunDirectory::existing(begins.run_directory));
  directory_->write("config.toml", write_config(config));
  directory_->write("plan.json", write_plan(plan));
  directory_->write("profile.json", write_profile(profile));
  directory_->write("cluster.toml", write_cluster(machine.cluster));
  add_log_file(directory_->file("log.txt"));
  open_metrics(environment_of(machine.cluster));
  progress_ = std::make_unique<Progress>(begins.step, config.training.steps, tokens_per_step_, unit());
  log_info("Run directory: {}", directory_->path());
}

void Recorder::open_metrics(std::map<std::string, std::string> environment) {
  environment["resumed_from"] = begins_.checkpoint;
  const std::string path = directory_->file("metrics.h5");
  std::optional<MetricsHistory> history;
  if (begins_.step > 0) history.emplace();
  try {
    if (!begins_.metrics.empty()) history = read_metrics_history(begins_.metrics, begins_.step);
  } catch (const Hdf5Failure& failure) {
    log_warning("{}: the series so far cannot be read ({}); they begin anew", begins_.metrics, failure.what());
  }
  metrics_ =
      std::make_unique<MetricsFile>(path, num_ranks_, write_plan(plan_), environment, history ? &*history : nullptr);
}

void Recorder::record_places(const Machine& machine) {
  const std::vector<RankPlace> places = rank_places(world_, waiter_, machine.map, plan_);
  collectively(world_, waiter_, [&] {
    if (rank_ != 0) return;
    print_result(describe_places(places, machine.cluster) + "\n");
    directory_->write("placement.json", places_to_json(places, machine.cluster));
  });
}

void Recorder::record(std::int64_t step, const IterationResult& result, double learning_rate, std::size_t peak_bytes) {
  if (rank_ == 0) {
    iteration_seconds_.push_back(result.seconds);
    if (step == begins_.step) first_loss_ = result.loss;
    last_loss_ = result.loss;
    progress_->step(step, kind_ == RunKind::training ? fmt::format("loss {:.4f}  lr {:.2e}", result.loss, learning_rate)
                                                     : format_seconds(result.seconds));
  }
  const std::int64_t interval = std::max<std::int64_t>(1, config_.metrics.interval);
  if (step % interval != 0 && step + 1 != config_.training.steps) return;
  const std::vector<double> of_ranks =
      gather(world_,
             std::vector<double>{result.compute_seconds(), result.communication_seconds, result.idle_seconds,
                                 static_cast<double>(peak_bytes)},
             waiter_);
  if (rank_ == 0) write_step(step, result, learning_rate, of_ranks);
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
  metrics.iteration_seconds = result.seconds;
  metrics.tokens_per_second = has_numbers ? tokens_per_step_ / result.seconds : none;
  metrics.model_flops_utilization = peak_flop_rate_ > 0.0 ? flop_per_step_ / result.seconds / peak_flop_rate_ : 0.0;
  std::vector<RankMetrics> ranks;
  for (int r = 0; r < num_ranks_; ++r) {
    const double* values = of_ranks.data() + 4 * r;
    ranks.push_back({values[0], values[1], values[2], static_cast<std::int64_t>(values[3])});
    metrics.peak_bytes = std::max(metrics.peak_bytes, ranks.back().peak_bytes);
  }
  metrics_->append_step(metrics, ranks);
}

void Recorder::record_loss_scale(std::int64_t step, const IterationResult& result, double next) {
  if (rank_ != 0) return;
  progress_->finish();
  if (result.skipped) {
    log_info("step {}: the gradients are not finite and the step is skipped; loss scale {:.8g} to {:.8g}", step + 1,
             result.loss_scale, next);
  } else {
    log_info("step {}: loss scale {:.8g} to {:.8g}", step + 1, result.loss_scale, next);
  }
}

void Recorder::record_evaluation(std::int64_t step, double loss) {
  if (rank_ != 0) return;
  evaluated_ = true;
  evaluation_loss_ = loss;
  progress_->evaluation(step, loss);
  metrics_->append_evaluation(step + 1, loss);
}

void Recorder::record_drift(std::int64_t step, int rank, double factor) {
  if (rank_ == 0) metrics_->append_drift(step + 1, rank, factor);
}

void Recorder::record_plan(std::int64_t step, const Plan& plan) {
  plan_ = plan;
  first_of_plan_ = iteration_seconds_.size();
  if (rank_ == 0) directory_->write(fmt::format("plan-after-{}.json", step + 1), write_plan(plan));
}

void Recorder::record_checkpoint(std::int64_t step, const std::string& path, double bytes, double seconds) {
  if (rank_ != 0) return;
  progress_->finish();
  log_info("step {}: checkpoint {}, {} in {} ({}/s)", step, path, format_bytes(bytes), format_seconds(seconds),
           format_bytes(bytes / seconds));
}

void Recorder::write_trace(const Trace& trace) {
  const std::vector<std::string> of_ranks = gather(world_, chrome_trace(trace), waiter_);
  if (rank_ == 0) directory_->write("trace.json", merge_chrome_traces(of_ranks));
}

std::string Recorder::speed(double seconds) const {
  std::string text = fmt::format("  speed        {} {}/s", format_count(tokens_per_step_ / seconds), unit());
  if (flop_per_step_ > 0.0) {
    text += fmt::format(", {} FLOP/s ({:.0f} % of the devices' peak)", format_count(flop_per_step_ / seconds),
                        100.0 * flop_per_step_ / seconds / std::max(1.0, peak_flop_rate_));
  }
  return text + "\n";
}

void Recorder::finish(std::size_t peak_bytes) {
  const std::vector<double> peaks = gather(world_, std::vector<double>{static_cast<double>(peak_bytes)}, waiter_);
  if (rank_ != 0) return;
  progress_->finish();
  const auto of_plan = iteration_seconds_.begin() + static_cast<std::ptrdiff_t>(first_of_plan_);
  const double measured = median({of_plan, iteration_seconds_.end()});
  const double predicted = plan_.predicted ? plan_.predicted->iteration_seconds : 0.0;
  std::string text = "Summary\n";
  text += fmt::format("  steps        {}, ", iteration_seconds_.size());
  text += kind_ == RunKind::training ? fmt::format("loss {:.4f} to {:.4f}", first_loss_, last_loss_)
                                     : std::string("rehearsed: no numbers");
  if (evaluated_) text += fmt::format(", held-back data {:.4f}", evaluation_loss_);
  text += fmt::format("\n  iteration    {:.4g} s measured (median), {:.4g} s predicted: {:+.0f} %\n", measured,
                      predicted, 100.0 * (predicted / measured - 1.0));
  text += speed(measured);
  const double peak = *std::max_element(peaks.begin(), peaks.end());
  const double expected =
      plan_.predicted && !plan_.predicted->peak_bytes.empty()
          ? *std::max_element(plan_.predicted->peak_bytes.begin(), plan_.predicted->peak_bytes.end())
          : 0.0;
  text += fmt::format("  memory       {} measured on the fullest device, {} predicted\n", format_bytes(peak),
                      format_bytes(expected));
  text += fmt::format("  results      {}\n", directory_->path());
  print_result(text);
}

}  // namespace pptrain
