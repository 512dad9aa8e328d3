#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace pptrain {

/// What the end of a run says, predicted beside measured.
struct RunSummary {
  std::int64_t steps = 0;
  struct Losses {
    double first = 0.0;
    double last = 0.0;
    std::optional<double> held_back;
  };
  std::optional<Losses> losses;  ///< nothing for a rehearsal
  double iteration_seconds = 0.0;
  std::optional<double> predicted_iteration_seconds;
  double compute_share = 0.0;  ///< of the time of all ranks, like the next two
  double communication_share = 0.0;
  double idle_share = 0.0;
  double amount_per_second = 0.0;
  std::string unit;  ///< of the amount: tokens or samples
  double flop_per_second = 0.0;
  double peak_flop_per_second = 0.0;
  double peak_bytes = 0.0;
  std::optional<double> predicted_peak_bytes;
  std::string run_directory;
};

/// The summary as text, a line for each of steps, iteration, time, speed, memory and results.
std::string describe_summary(const RunSummary& summary);

}  // namespace pptrain
