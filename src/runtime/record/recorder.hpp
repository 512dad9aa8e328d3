#pragma once

#include <mpi.h>

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cluster/cluster.hpp"
#include "config/config.hpp"
#include "io/run/metrics.hpp"
#include "io/run/run_directory.hpp"
#include "model/model.hpp"
#include "plan/plan.hpp"
#include "profile/profile.hpp"
#include "runtime/display/progress.hpp"
#include "runtime/display/verbose.hpp"
#include "runtime/execute/executor.hpp"
#include "runtime/places/machine.hpp"
#include "runtime/places/role.hpp"
#include "runtime/record/summary.hpp"

namespace pptrain {

/// Whether a run has numbers, or only times and bytes.
enum class RunKind { training, rehearsal };

/// Where a run begins that goes on from a checkpoint; all else: a new one.
struct RunStart {
  std::int64_t step = 0;                  ///< steps done
  std::string run_directory;              ///< in which it goes on; "": it gets a new one
  std::shared_ptr<RunDirectory> claimed;  ///< that one, on rank 0; nothing: another job runs there,
                                          ///< and it gets a new one
  std::string metrics;                    ///< metrics.h5 of the run so far; "": none
  std::string checkpoint;                 ///< the file, for /environment
};

/// What is recorded of a model.
struct RecordedModel {
  double flop_per_sample = 0.0;
  ExpertColumns experts = {};  ///< whose rows are counted
};

/// What is recorded of a model that is trained.
RecordedModel recorded(const Model& model);

/// A run whose figures are kept.
struct RecordedRun {
  const Config& config;
  RecordedModel model;
  const Machine& machine;
  const Profile& profile;
  const Plan& plan;
  RunKind kind = RunKind::training;
  RunStart begins = {};
  const Backend& backend = host_backend();  ///< of this rank
};

/// Keeps what a run gives: the run directory with all that is needed to repeat it, metrics.h5, the
/// progress line and the summary. Rank 0 writes; the others hand in their times.
class Recorder {
 public:
  /// `waiter` waits for the figures of other ranks. Makes the run directory. Throws exit code 2
  /// when it cannot be written. Not collective.
  Recorder(MPI_Comm world, Waiter& waiter, const RecordedRun& run);

  /// The run directory; on rank 0.
  const std::string& directory() const { return directory_->path(); }
  /// Prints which rank drives which device in which place of the plan, and writes placement.json;
  /// prints how groups communicate (`RankGroups::ways`), each once. Collective.
  void record_places(const Machine& machine, const std::vector<std::string>& ways = {});
  /// One iteration of this rank. Collective over `world` at the configured interval.
  void record(std::int64_t step, const IterationResult& result, double learning_rate,
              std::size_t peak_bytes);
  /// The loss scale changed to `next`.
  void record_loss_scale(std::int64_t step, const IterationResult& result, double next);
  /// `part`: how much of the held-back data it is of, for people; "": all.
  void record_evaluation(std::int64_t step, double loss, const std::string& part);
  /// A rank has fallen behind.
  void record_drift(std::int64_t step, int rank, double factor);
  /// Writes plan-after-STEP.json: from the next step on the job goes by another plan.
  void record_plan(std::int64_t step, const Plan& plan);
  /// A checkpoint was written.
  void record_checkpoint(std::int64_t step, const std::string& path, double bytes, double seconds);
  /// Writes trace.json: what all ranks did in one iteration. Collective.
  void write_trace(const Trace& trace);
  /// Prints the summary. Collective.
  void finish(std::size_t peak_bytes);

 private:
  std::string unit() const {
    return kind_ == RunKind::training && config_.rows_per_sample() > 1 ? "tokens" : "samples";
  }
  /// A file of a run that goes on: where it cannot be written, that is a warning.
  void write_late(const std::string& name, const std::string& content) const;
  void add_times(std::int64_t step, const std::vector<double>& of_ranks);
  double peak_of_used_devices() const;
  /// Whether the plan has a place for the device of this rank.
  bool has_place(int rank) const;
  void add_iterations(RunSummary& summary) const;
  void open_metrics(std::map<std::string, std::string> environment);
  void write_step(std::int64_t step, const IterationResult& result, double learning_rate,
                  const std::vector<double>& of_ranks);

  MPI_Comm world_;
  Waiter& waiter_;
  int rank_ = 0;
  int num_ranks_ = 1;
  Config config_;
  Plan plan_;
  RankMap map_;
  RunKind kind_;
  RunStart begins_;
  double tokens_per_step_;  ///< samples of a classifier, or of a rehearsal, whose sequences have no
                            ///< length where only times are known
  double flop_per_step_;
  ExpertColumns experts_;
  Cluster cluster_;
  double peak_flop_rate_;                    ///< of the devices that the plan uses
  std::shared_ptr<RunDirectory> directory_;  ///< rank 0 only, like the two below
  std::unique_ptr<MetricsFile> metrics_;
  std::unique_ptr<Progress> progress_;
  std::vector<double> iteration_seconds_;
  std::size_t first_of_plan_ = 0;  ///< iteration of the present plan
  RunSummary::Losses losses_;
  std::optional<SpentTimes> first_times_;  ///< of the first step, where /ranks has it
  std::optional<SpentTimes> later_times_;  ///< of the other steps of /ranks
  RankTotals rank_totals_;                 ///< of all recorded steps, rank by rank
};

}  // namespace pptrain
