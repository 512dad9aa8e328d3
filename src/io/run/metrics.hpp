#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "io/hdf5/hdf5_output.hpp"
#include "io/hdf5/series.hpp"
#include "io/run/metrics_history.hpp"

namespace pptrain {

/// One row of /steps.
struct StepMetrics {
  std::int64_t step = 0;   ///< from 1: the number of optimizer steps done
  double loss = 0.0;       ///< mean cross-entropy per token of the global batch, before the update
  double grad_norm = 0.0;  ///< global norm before clipping
  double learning_rate = 0.0;
  double loss_scale = 1.0;
  double iteration_seconds = 0.0;
  double tokens_per_second = 0.0;
  double model_flops_utilization = 0.0;  ///< of the devices' peak, 0 to 1; NaN where none is known
  std::int64_t peak_bytes = 0;           ///< of the fullest device since the start
  double experts_balance = 0.0;  ///< part of the loss, without its weight; NaN where nobody asked
};

/// One column of a row of /ranks.
struct RankMetrics {
  double compute_seconds = 0.0;
  double communication_seconds = 0.0;
  double idle_seconds = 0.0;
  std::int64_t peak_bytes = 0;
};

/// A series of metrics.h5.
struct MetricsSeries {
  std::string group;  ///< "steps"
  SeriesInfo info;
  Series::Type type;
  enum class Columns { none, ranks, experts };
  Columns columns;  ///< [row] or [row, column]
  bool newer;       ///< older files lack it: its rows are NaN then
};

/// All series of metrics.h5, group by group.
const std::vector<MetricsSeries>& metrics_series();

/// metrics.h5 of a run, written by rank 0 alone.
///
/// Single-writer-multiple-reader mode with all objects created beforehand: it can be read while the
/// run goes on and after it was killed (`h5py.File(path, swmr=True)`).
class MetricsFile {
 public:
  /// Creates the file. `plan` becomes /plan; `environment` the attributes of /environment.
  /// The series begin with the rows of `history`, where there is one, and the file then takes the
  /// place of one that is there. `experts` are the columns of /experts, of a model that has any. A
  /// file that cannot be created throws `Error` (exit code 2, and 4 where the disk is full), and
  /// nothing is left.
  MetricsFile(const std::string& path, std::int64_t num_ranks, const std::string& plan,
              const std::map<std::string, std::string>& environment,
              const MetricsHistory* history = nullptr, const ExpertColumns& experts = {});

  /// Appends a row to /steps, /ranks, one entry per rank, and /experts, one entry per column. False
  /// when it could not be written: that is a warning, once, and nothing is written from then on.
  bool append_step(const StepMetrics& metrics, std::span<const RankMetrics> ranks,
                   std::span<const std::int64_t> expert_rows = {});
  /// Appends to /evaluation; the same rules.
  bool append_evaluation(std::int64_t step, double loss);
  /// Appends to /drift; the same rules.
  bool append_drift(std::int64_t step, std::int64_t rank, double factor);

  /// Whether rows are still written: false for good after one that could not be.
  bool writes() const { return writes_; }

 private:
  void create(const std::string& path, const std::string& plan,
              const std::map<std::string, std::string>& environment, const MetricsHistory* history);
  void append_history(const MetricsHistory& history);
  void append_expert_rows(const MetricsHistory& history);
  template <class Action>
  bool attempt(const Action& action);

  std::string path_;
  bool writes_ = true;
  std::int64_t num_ranks_;
  std::int64_t num_columns_;  ///< of /ranks: ranks now or, if there were more, before
  ExpertColumns experts_;
  // Closed in reverse order: datasets before the file.
  Hdf5Output file_;
  std::vector<Series> step_integers_;  // step, peak_bytes
  std::vector<Series> step_reals_;     // in the order of `step_reals`
  std::vector<Series> rank_reals_;     // compute, communication, idle
  std::vector<Series> rank_integers_;  // peak_bytes
  std::vector<Series> expert_rows_;    // rows, where there are experts
  std::vector<Series> evaluation_;     // step, loss
  std::vector<Series> drift_;          // step, rank, factor
};

}  // namespace pptrain
