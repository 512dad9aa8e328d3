#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace pptrain {

/// What the columns of /experts are: layer by layer, expert by expert.
struct ExpertColumns {
  std::vector<std::string> layers;  ///< names of those with experts; none: there is no such group
  std::int64_t experts = 0;         ///< of each of them

  /// Columns of a row: one for each expert of each layer that has them.
  std::int64_t size() const { return static_cast<std::int64_t>(layers.size()) * experts; }
  bool operator==(const ExpertColumns&) const = default;
};

/// What metrics.h5 of a run holds up to some step, for a job that goes on from there.
struct MetricsHistory {
  std::int64_t num_ranks = 0;  ///< columns of /ranks
  ExpertColumns experts;
  std::map<std::string, std::vector<double>> reals;           ///< rows of numbers, as "steps/loss"
  std::map<std::string, std::vector<std::int64_t>> integers;  ///< rows of whole numbers
};

/// The rows of steps up to `last_step`. The run may have been killed. Throws `Hdf5Failure`.
MetricsHistory read_metrics_history(const std::string& path, std::int64_t last_step);

/// All that a metrics file holds.
struct MetricsContent {
  MetricsHistory history;
  std::string plan;
  std::map<std::string, std::string> environment;
  bool left_open = false;  ///< its writer still writes, or was killed: other programs need
                           ///< `swmr=True`
};

/// Reads a metrics file, whether its run goes on, ended or was killed. Throws `Hdf5Failure`.
MetricsContent read_metrics(const std::string& path);

/// Rows of `columns` values widened to `wanted`, with `missing` behind them.
template <class T>
std::vector<T> widened(const std::vector<T>& rows, std::int64_t columns, std::int64_t wanted,
                       T missing) {
  if (columns == wanted || columns == 0) return rows;
  std::vector<T> wide;
  for (std::size_t i = 0; i < rows.size(); i += static_cast<std::size_t>(columns)) {
    wide.insert(wide.end(), rows.begin() + static_cast<std::ptrdiff_t>(i),
                rows.begin() + static_cast<std::ptrdiff_t>(i) + columns);
    wide.insert(wide.end(), static_cast<std::size_t>(wanted - columns), missing);
  }
  return wide;
}

}  // namespace pptrain
