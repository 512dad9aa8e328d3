#include "runtime/checkpoint/resume.hpp"

#include <algorithm>
#include <filesystem>
#include <sstream>

#include "base/error.hpp"
#include "base/log.hpp"
#include "comm/collective.hpp"
#include "comm/mpi.hpp"
#include "comm/mpi_communicator.hpp"
#include "io/checkpoint/checkpoint_folder.hpp"
#include "model/build/check.hpp"
#include "runtime/checkpoint/data_fingerprint.hpp"
#include "runtime/checkpoint/same_job.hpp"
#include "runtime/places/same_files.hpp"

namespace pptrain {
namespace {

namespace fs = std::filesystem;

const std::string latest = "latest";

/// Reads the head on every rank, and a share of the values on each: hosts have copies of their own,
/// which are all alike. Collective.
CheckpointHead checked(MPI_Comm world, Waiter& waiter, const std::string& path) {
  CheckpointHead head;
  collectively(world, waiter, [&] { head = read_checkpoint_head(path); });
  collectively(world, waiter, [&] { check_blocks(path, head, rank_in(world), size_of(world)); });
  return head;
}

/// The run directory of a checkpoint, where it is in one of this job; "checkpoints" in it may be a
/// link.
fs::path run_of(const std::string& path, const Config& config) {
  std::error_code error;
  const fs::path job = fs::path(config.job.output) / config.job.name;
  for (const fs::path& file :
       {fs::absolute(path, error).lexically_normal(), fs::canonical(path, error)}) {
    const fs::path run = fs::canonical(file.parent_path().parent_path(), error);
    const bool is_run = !error && file.parent_path().filename() == "checkpoints" &&
                        run.parent_path() == fs::canonical(job, error) && !error;
    if (is_run) return job / run.filename();
  }
  return {};
}

/// The run directory that a path names, itself where it is a link: `latest` becomes another run's
/// when this job gets a directory of its own.
fs::path without_link(const std::string& path) {
  fs::path run = fs::path(path).lexically_normal();
  if (!run.has_filename()) run = run.parent_path();
  return fs::is_symlink(run) ? run.parent_path() / fs::read_symlink(run) : run;
}

/// Makes the run directory this job's alone, on rank 0, where no other job has it.
void claim(const fs::path& run, const JobOptions& options, Resumed& from) {
  from.run_directory = run;
  from.claimed = nullptr;
  from.damaged.clear();
  if (run.empty() || options.dry_run) return;
  std::optional<RunDirectory> directory = RunDirectory::existing(run);
  if (directory) from.claimed = std::make_shared<RunDirectory>(std::move(*directory));
}

/// Whether a run has a checkpoint of more steps.
bool has_later(const std::string& run, std::int64_t step) {
  const std::vector<std::string> files = CheckpointFolder(run).files();
  return std::any_of(files.begin(), files.end(),
                     [&](const std::string& file) { return step_of_checkpoint(file) > step; });
}

/// The choice of a checkpoint. All functions are collective.
class Choice {
 public:
  Choice(MPI_Comm world, Waiter& waiter, const JobOptions& options, const Config& config)
      : world_(world), waiter_(waiter), options_(options), config_(config) {}

  /// Takes the checkpoint at a path.
  void take(const std::string& path) {
    check_same_files(world_, waiter_, {path});
    head_ = checked(world_, waiter_, path);
    accept(path);
    on_rank_0([&] {
      const std::string run = run_of(path, config_);
      claim(run, options_, from_);
      if (!run.empty() && has_later(run, head_.state.step)) claim("", options_, from_);
      return std::vector<std::string>();
    });
  }

  /// The newest sound one of a run directory. False where the path is no directory.
  bool take_run(const std::string& path) {
    const auto run = [&]() -> std::vector<std::string> {
      std::error_code ignored;
      if (!fs::is_directory(path, ignored)) return {};
      checkpoints_of_run(path);
      return {without_link(path)};
    };
    const std::vector<std::string> found = on_rank_0(run);
    if (found.empty()) return false;
    if (!take_newest(found.front())) throw *damaged_;
    return true;
  }

  /// The newest sound one of the run that wrote one last; of an earlier run where that one has
  /// none. False where there is no checkpoint at all.
  bool take_latest() {
    const auto runs = [&] { return runs_with_checkpoints(config_.job.output, config_.job.name); };
    for (const std::string& run : on_rank_0(runs)) {
      if (take_newest(run)) return true;
    }
    if (damaged_) throw *damaged_;
    return false;
  }

  const CheckpointHead& head() const { return head_; }
  Resumed& from() { return from_; }

 private:
  bool prints() const { return rank_in(world_) == 0; }

  /// The newest sound checkpoint of a run. The run is this job's before it is looked into: another
  /// job might add checkpoints, or remove them.
  bool take_newest(const std::string& run) {
    const auto files = [&] {
      const CheckpointFolder folder(run);
      claim(run_of(folder.file(0), config_), options_, from_);
      return folder.files();
    };
    for (const std::string& path : on_rank_0(files)) {
      if (damaged_ && prints())
        log_warning("{}; going back to the checkpoint before it", damaged_->what());
      if (is_sound(path)) {
        accept(path);
        return true;
      }
    }
    return false;
  }

  /// Whether a checkpoint can be gone on from; one that cannot is noted as damaged.
  bool is_sound(const std::string& path) {
    check_same_files(world_, waiter_, {path});  // copies that differ are no damage
    try {
      head_ = checked(world_, waiter_, path);
      return true;
    } catch (const Error& error) {
      if (error.code() != ExitCode::bad_input) throw;
      damaged_ = error;
      from_.damaged.push_back(path);
      return false;
    }
  }

  /// The head is that of all hosts' copies, whose blocks are checked by it as they are read.
  void accept(const std::string& path) {
    const std::string digest = fmt::format("{} steps, {}", head_.state.step, head_digest(head_));
    check_same_digest(world_, waiter_, path, digest);
    from_.path = path;
  }

  /// What `list` returns on rank 0, on all ranks.
  template <class List>
  std::vector<std::string> on_rank_0(const List& list) {
    std::string lines;
    collectively(world_, waiter_, [&] {
      if (!prints()) return;
      for (const std::string& path : list()) lines += path + "\n";
    });
    std::istringstream stream(broadcast(world_, lines, waiter_));
    std::vector<std::string> paths;
    for (std::string line; std::getline(stream, line);) paths.push_back(line);
    return paths;
  }

  MPI_Comm world_;
  Waiter& waiter_;
  const JobOptions& options_;
  const Config& config_;
  Resumed from_;
  CheckpointHead head_;
  std::optional<Error> damaged_;  ///< what the last one that was passed over says
};

void find_metrics(Resumed& from) {
  const fs::path metrics = fs::path(from.path).parent_path().parent_path() / "metrics.h5";
  std::error_code ignored;
  if (fs::exists(metrics, ignored)) from.metrics = metrics;
}

}  // namespace

std::optional<Resumed> find_checkpoint(MPI_Comm world, Waiter& waiter, const JobOptions& options,
                                       const Config& config, const Model& model,
                                       const Dataset& data) {
  if (options.resume.empty()) return std::nullopt;
  const bool prints = rank_in(world) == 0;
  Choice choice(world, waiter, options, config);
  if (options.resume != latest) {
    if (!choice.take_run(options.resume)) choice.take(options.resume);
  } else if (!choice.take_latest()) {
    if (prints)
      log_info("No checkpoint of {} below {} yet: starting from the beginning", config.job.name,
               config.job.output);
    return std::nullopt;
  }
  Resumed from = choice.from();
  from.state = choice.head().state;
  from.datasets = datasets_of(model, config.optimizer);
  collectively(world, waiter, [&] {
    check_same_job(from.path, choice.head(), config,
                   prints ? data_fingerprint(data, model) : choice.head().state.data,
                   from.datasets);
    find_metrics(from);
  });
  if (!prints) return from;
  log_info("Resuming from {}: {} steps done", from.path, from.state.step);
  for (const std::string& text :
       changed_settings(from.state, config, sums_over_micro_batches(config, model))) {
    log_info("Changed: {}", text);
  }
  return from;
}

void load_checkpoint(MPI_Comm world, Waiter& waiter, const std::vector<int>& nodes,
                     const Model& model, const Resumed& from, Session& session) {
  MpiTransport transport(world);
  BlockTransfer(world, transport, waiter, nodes, model, session).load(from.path, from.datasets);
  refresh_copies(session);
  std::optional<double> scale;
  if (had_loss_scale(from.state)) scale = from.state.loss_scale;
  session.loss_scale().restore({scale, from.state.good_steps, from.state.skipped_steps});
}

}  // namespace pptrain
