#include "runtime/record/summary.hpp"

#include <fmt/format.h>

#include <cmath>

#include "base/names.hpp"
#include "base/screen.hpp"
#include "base/units.hpp"

namespace pptrain {
namespace {

std::string steps_text(const RunSummary& summary) {
  std::string text = fmt::format("  steps        {}, ", summary.steps);
  if (!summary.losses) return text + "timing only, no loss\n";
  text += "loss " + loss_text(summary.losses->first);
  if (summary.steps > 1) text += " to " + loss_text(summary.losses->last);
  if (summary.losses->held_back)
    text += ", held-back data " + loss_text(*summary.losses->held_back);
  return text + "\n";
}

/// "4 % more"; where it is far off, how many times as much.
std::string beside(double measured, double predicted) {
  const double ratio = measured / predicted;
  if (ratio >= 2.0) return fmt::format("{:.2g} times as much", ratio);
  const auto off = std::lround(100.0 * (ratio - 1.0));
  if (off == 0) return "as predicted";
  return fmt::format("{} % {}", std::abs(off), off < 0 ? "less" : "more");
}

std::string iteration_text(const RunSummary& summary) {
  if (summary.iterations == 0) return "";
  std::string text =
      fmt::format("  iteration    {} measured ({})", format_seconds(summary.iteration_seconds),
                  summary.iterations == 1 ? "one step" : "median");
  const double predicted = summary.predicted_iteration_seconds.value_or(0.0);
  if (const double tried = summary.trial_iteration_seconds.value_or(0.0); tried > 0.0) {
    text += fmt::format(", {} in its trial: {}", format_seconds(tried),
                        beside(summary.iteration_seconds, tried));
    if (predicted > 0.0) text += fmt::format(", {} by simulation", format_seconds(predicted));
  } else if (predicted > 0.0) {
    text += fmt::format(", {} predicted: {}", format_seconds(predicted),
                        beside(summary.iteration_seconds, predicted));
  }
  return wrapped(text, screen_columns(), std::string(15, ' ')) + "\n";
}

std::string times_text(const RunSummary& summary) {
  if (!summary.times || summary.times->sum() <= 0.0) return "";
  const SpentTimes& times = *summary.times;
  const auto share = [&](double seconds) { return format_percent(seconds / times.sum()); };
  const char* of_whom = times.of_first_step        ? "in the first step"
                        : times.ranks_left_out > 0 ? "of ranks in use"
                                                   : "of all ranks";
  const std::string text =
      fmt::format("  time         {} computing, {} communicating, {} idle, {}",
                  share(times.compute), share(times.communication), share(times.idle), of_whom);
  return wrapped(text, screen_columns(), std::string(15, ' ')) + "\n";
}

std::string speed_text(const RunSummary& summary) {
  if (summary.iteration_seconds <= 0.0) return "";
  return fmt::format("  speed        {} {}/s\n", format_count(summary.amount_per_second),
                     summary.unit);
}

std::string flop_text(const RunSummary& summary) {
  if (summary.flop_per_second <= 0.0) return "";
  std::string text =
      fmt::format("  FLOP         {} of the model", format_flop_rate(summary.flop_per_second));
  const double peak = summary.peak_flop_per_second;
  if (peak <= 0.0) return text + "; no peak of the devices is known\n";
  const std::optional<double> of_peak = utilisation(summary.flop_per_second, peak);
  return text + fmt::format(", {} the peak of {}\n",
                            of_peak ? format_percent(*of_peak) + " of" : "more than",
                            format_flop_rate(peak));
}

std::string memory_text(const RunSummary& summary) {
  std::string text = fmt::format("  memory       {} measured on the fullest device",
                                 format_bytes(summary.peak_bytes));
  if (!summary.predicted_peak_bytes) return text + "\n";
  return text + fmt::format(", {} predicted\n", format_bytes(*summary.predicted_peak_bytes));
}

}  // namespace

std::optional<double> utilisation(double flop_per_second, double peak_flop_per_second) {
  if (!(flop_per_second > 0.0) || flop_per_second > peak_flop_per_second) return std::nullopt;
  return flop_per_second / peak_flop_per_second;
}

std::string loss_text(double loss) {
  return std::isfinite(loss) ? fmt::format("{:.4f}", loss) : "not finite";
}

std::string describe_summary(const RunSummary& summary) {
  return "Summary\n" + steps_text(summary) + iteration_text(summary) + times_text(summary) +
         speed_text(summary) + flop_text(summary) + memory_text(summary) +
         fmt::format("  results      {}\n  as a page    pptrain report {}\n", summary.run_directory,
                     shell_word(summary.run_directory));
}

}  // namespace pptrain
