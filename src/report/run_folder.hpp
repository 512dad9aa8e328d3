#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "io/run/metrics_history.hpp"
#include "report/reported_plans.hpp"

namespace pptrain {

/// What a run left in its directory, however it ended. Its plans are those of its last job;
/// `config` is nothing where config.toml cannot be read any more.
struct RunFolder : ReportedPlans {
  std::string path;               ///< as it was named
  std::int64_t resumed_step = 0;  ///< the steps that were done when its last job went on; 0: it has
                                  ///< only one
  MetricsContent metrics;
  nlohmann::json placement;  ///< a list with an object for each rank; empty where it was lost
  nlohmann::json trace;      ///< a Chrome trace, null without
  std::vector<std::string> losses;  ///< what could not be read, for the reader

  std::string full_path() const;  ///< from the root, whatever it was named by
};

/// Reads the directory. Throws `Error` (exit code 2) where it is no run directory, or where plan,
/// cluster, profile or metrics cannot be read; does without all else.
RunFolder read_run_folder(const std::string& path);

/// Rewrites metrics.h5 of a run that was killed so that any program opens it; returns whether it
/// did. A run that may still be going keeps its file: one that was written within ten minutes, or
/// within ten of its longest iterations.
bool close_metrics(const RunFolder& run);

}  // namespace pptrain
