#include "comm/fail_together.hpp"

#include <fmt/format.h>

#include <optional>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "comm/collective.hpp"

namespace pptrain {
namespace {

// What a rank reports: nothing where it ended well, else how it failed, the exit code and the
// message.
constexpr char by_itself = '!';
constexpr char by_another = '?';

std::string report_of(char how, const Error& error) {
  std::string report = {how, static_cast<char>(error.code())};
  return report + error.what();
}

/// The exit code and the message of the lowest rank that failed by itself, with its rank; "" where
/// none failed.
std::string first_failure(const std::vector<std::string>& reports) {
  const std::string* first = nullptr;
  std::size_t rank = 0;
  for (std::size_t r = 0; r < reports.size(); ++r) {
    if (reports[r].empty() ||
        (first != nullptr && (first->front() == by_itself || reports[r][0] == by_another))) {
      continue;
    }
    first = &reports[r];
    rank = r;
  }
  if (first == nullptr) return "";
  const std::string text = first->substr(2);
  return (*first)[1] + (text.starts_with("rank ") ? text : fmt::format("rank {}: {}", rank, text));
}

}  // namespace

void fail_together(Alarm& alarm, double timeout_seconds, const std::function<void()>& work) {
  const std::optional<Error> error = error_of(work);
  if (error && error->thrown_by() == ThrownBy::all_ranks) throw Error(*error);
  std::string report;
  if (error) {
    const std::optional<Alarm::Call> call = alarm.heard();
    report = report_of(alarm.raised() ? by_another : by_itself, *error);
    alarm.raise(call ? call->reason : Alarm::Reason::failed);
    // Some rank is dead or stands still, so that not all would answer.
    if (alarm.raised() == Alarm::Reason::waited) throw Error(*error);
  }
  Waiter patience(timeout_seconds, CoreUse::shared);
  patience.name_place([rank = rank_in(alarm.comm())] { return fmt::format("rank {}", rank); });
  std::string told;
  if (const std::optional<Error> unanswered = error_of([&] {
        told = broadcast(alarm.comm(), first_failure(gather(alarm.comm(), report, patience)),
                         patience);
      })) {
    throw Error(error ? *error : *unanswered);
  }
  if (!told.empty())
    throw Error(static_cast<ExitCode>(told[0]), told.substr(1), ThrownBy::all_ranks);
}

}  // namespace pptrain
