#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace pptrain {

/// Seconds that the ranks of the plan together spent in the steps of a run whose times are known. A
/// rank whose device the plan leaves out is not among them, as in what a plan predicts
/// (`Prediction::bubble_fraction`).
struct SpentTimes {
  double compute = 0.0;
  double communication = 0.0;
  double idle = 0.0;
  bool of_first_step = false;  ///< no other one's are known, and it takes longer than the others
  int ranks_left_out = 0;      ///< by the plan
  /// Seconds of these steps altogether, summed over the ranks.
  double sum() const { return compute + communication + idle; }
};

/// Model FLOP utilisation, 0 to 1: what a run reached of the devices' peak. Nothing where no peak
/// is known (0), or where it cannot be one because more was reached.
std::optional<double> utilisation(double flop_per_second, double peak_flop_per_second);

/// What the end of a run says, predicted beside measured.
struct RunSummary {
  std::int64_t steps = 0;
  struct Losses {
    double first = 0.0;
    double last = 0.0;
    std::optional<double> held_back;
  };
  std::optional<Losses> losses;    ///< nothing for a rehearsal
  double iteration_seconds = 0.0;  ///< median of the steps by the last plan, the first of them left
                                   ///< out
  std::int64_t iterations = 0;     ///< of which it is the median; 1: perhaps that first one
  std::optional<double> predicted_iteration_seconds;
  std::optional<double> trial_iteration_seconds;  ///< measured in the plan's trial, where there
                                                  ///< were trials
  std::optional<SpentTimes> times;                ///< nothing where no step's are known
  double amount_per_second = 0.0;
  std::string unit;  ///< of the amount: tokens or samples
  double flop_per_second = 0.0;
  double peak_flop_per_second = 0.0;
  double peak_bytes = 0.0;
  std::optional<double> predicted_peak_bytes;
  std::string run_directory;
};

/// "2.6649", or that a loss is not finite, as it may be in a step that is skipped.
std::string loss_text(double loss);

/// The summary as text, a line for each of steps, iteration, time, speed, FLOP, memory and results;
/// without those lines that would have nothing to say.
std::string describe_summary(const RunSummary& summary);

}  // namespace pptrain
