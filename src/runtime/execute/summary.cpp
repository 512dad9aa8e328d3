#include "runtime/execute/summary.hpp"

#include <fmt/format.h>

#include <cmath>

#include "base/names.hpp"
#include "base/units.hpp"

namespace pptrain {
namespace {

std::string steps_text(const RunSummary& summary) {
  std::string text = fmt::format("  steps        {}, ", summary.steps);
  if (!summary.losses) return text + "rehearsed: no numbers";
  text += fmt::format("loss {:.4f} to {:.4f}", summary.losses->first, summary.losses->last);
  if (summary.losses->held_back) text += fmt::format(", held-back data {:.4f}", *summary.losses->held_back);
  return text;
}

/// "4 % more than predicted"; where it is far off, how many times as much.
std::string beside(double measured, double predicted) {
  const double ratio = measured / predicted;
  if (ratio >= 2.0) return fmt::format("{:.1f} times as much as predicted", ratio);
  return fmt::format("{:.0f} % {} than predicted", std::abs(100.0 * (ratio - 1.0)), ratio < 1.0 ? "less" : "more");
}

std::string iteration_text(const RunSummary& summary) {
  std::string text = fmt::format("  iteration    {:.4g} s measured (median)", summary.iteration_seconds);
  if (!summary.predicted_iteration_seconds) return text;
  return text + fmt::format(", {:.4g} s predicted: {}", *summary.predicted_iteration_seconds,
                            beside(summary.iteration_seconds, *summary.predicted_iteration_seconds));
}

std::string speed_text(const RunSummary& summary) {
  std::string text = fmt::format("  speed        {} {}/s", format_count(summary.amount_per_second), summary.unit);
  if (summary.flop_per_second <= 0.0) return text;
  text += fmt::format(", {} FLOP/s of the model", format_count(summary.flop_per_second));
  if (summary.peak_flop_per_second <= 0.0) return text;
  return text + fmt::format(" ({:.0f} % of the devices' peak)",
                            100.0 * summary.flop_per_second / summary.peak_flop_per_second);
}

std::string memory_text(const RunSummary& summary) {
  std::string text = fmt::format("  memory       {} measured on the fullest device", format_bytes(summary.peak_bytes));
  if (!summary.predicted_peak_bytes) return text;
  return text + fmt::format(", {} predicted", format_bytes(*summary.predicted_peak_bytes));
}

}  // namespace

std::string describe_summary(const RunSummary& summary) {
  return fmt::format(
      "Summary\n{}\n{}\n  time         {:.0f} % computing, {:.0f} % communicating, {:.0f} % idle, of all "
      "ranks\n{}\n{}\n"
      "  results      {} (as a page: pptrain report {})\n",
      steps_text(summary), iteration_text(summary), 100.0 * summary.compute_share, 100.0 * summary.communication_share,
      100.0 * summary.idle_share, speed_text(summary), memory_text(summary), summary.run_directory,
      shell_word(summary.run_directory));
}

}  // namespace pptrain
