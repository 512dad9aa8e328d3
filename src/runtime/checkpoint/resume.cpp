#include "runtime/checkpoint/resume.hpp"

#include <filesystem>
#include <sstream>

#include "base/error.hpp"
#include "base/log.hpp"
#include "comm/collective.hpp"
#include "comm/mpi.hpp"
#include "comm/mpi_communicator.hpp"
#include "io/checkpoint_folder.hpp"
#include "runtime/checkpoint/data_fingerprint.hpp"
#include "runtime/checkpoint/same_job.hpp"

namespace pptrain {
namespace {

namespace fs = std::filesystem;

const std::string latest = "latest";

/// What `--resume` may mean, the best first; the same on all ranks.
std::vector<std::string> candidates(MPI_Comm world, Waiter& waiter, const std::string& resume, const Config& config) {
  if (resume != latest) return {resume};
  std::string lines;
  collectively(world, waiter, [&] {
    if (rank_in(world) != 0) return;
    for (const std::string& path : checkpoints_of_job(config.job.output, config.job.name)) lines += path + "\n";
  });
  std::istringstream stream(broadcast(world, lines, waiter));
  std::vector<std::string> paths;
  for (std::string line; std::getline(stream, line);) paths.push_back(line);
  return paths;
}

/// Reads the head on every rank, and a share of the values on each. Collective.
CheckpointHead checked(MPI_Comm world, Waiter& waiter, const std::string& path) {
  CheckpointHead head;
  collectively(world, waiter, [&] { head = read_checkpoint_head(path); });
  collectively(world, waiter, [&] { check_blocks(path, head, rank_in(world), size_of(world)); });
  return head;
}

/// The run directory of a checkpoint, where it is in one of this job; "checkpoints" in it may be a link.
fs::path run_of(const std::string& path, const Config& config) {
  std::error_code error;
  const fs::path job = fs::path(config.job.output) / config.job.name;
  for (const fs::path& file : {fs::absolute(path, error).lexically_normal(), fs::canonical(path, error)}) {
    const fs::path run = fs::canonical(file.parent_path().parent_path(), error);
    const bool is_run = !error && file.parent_path().filename() == "checkpoints" &&
                        run.parent_path() == fs::canonical(job, error) && !error;
    if (is_run) return job / run.filename();
  }
  return {};
}

void choose_run(Resumed& from, bool is_latest, const Config& config) {
  const fs::path metrics = fs::path(from.path).parent_path().parent_path() / "metrics.h5";
  std::error_code ignored;
  if (fs::exists(metrics, ignored)) from.metrics = metrics;
  const fs::path run = run_of(from.path, config);
  if (run.empty()) return;
  for (const std::string& other : CheckpointFolder(run).files()) {
    if (!is_latest && step_of_checkpoint(other) > from.state.step) return;
  }
  from.run_directory = run;
}

}  // namespace

std::optional<Resumed> find_checkpoint(MPI_Comm world, Waiter& waiter, const std::string& resume, const Config& config,
                                       const Model& model, const Dataset& data) {
  if (resume.empty()) return std::nullopt;
  const bool prints = rank_in(world) == 0;
  const std::vector<std::string> paths = candidates(world, waiter, resume, config);
  if (paths.empty()) {
    if (prints)
      log_info("No checkpoint of {} below {} yet: starting from the beginning", config.job.name, config.job.output);
    return std::nullopt;
  }
  Resumed from;
  CheckpointHead head;
  for (std::size_t i = 0; from.path.empty(); ++i) {
    try {
      head = checked(world, waiter, paths[i]);
      from.path = paths[i];
    } catch (const Error& error) {
      if (error.code() != ExitCode::bad_input || i + 1 == paths.size()) throw;
      if (prints) log_warning("{}; going back to the checkpoint before it", error.what());
    }
  }
  from.state = head.state;
  from.datasets = datasets_of(model, config.optimizer);
  collectively(world, waiter, [&] {
    check_same_job(from.path, head, config, prints ? data_fingerprint(data, model) : head.state.data, from.datasets);
    choose_run(from, resume == latest, config);
  });
  if (!prints) return from;
  log_info("Resuming from {}: {} steps done", from.path, from.state.step);
  for (const std::string& text : changed_settings(from.state, config)) log_info("Changed: {}", text);
  return from;
}

void load_checkpoint(MPI_Comm world, Waiter& waiter, const std::vector<int>& nodes, const Model& model,
                     const Resumed& from, Session& session) {
  MpiTransport transport(world);
  BlockTransfer(world, transport, waiter, nodes, model, session).load(from.path, from.datasets);
  refresh_copies(session);
  std::optional<double> scale;
  if (had_loss_scale(from.state)) scale = from.state.loss_scale;
  session.loss_scale().restore({scale, from.state.good_steps, from.state.skipped_steps});
}

}  // namespace pptrain
