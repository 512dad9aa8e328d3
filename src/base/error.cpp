#include "base/error.hpp"

#include <cstdlib>

#include "base/log.hpp"
#include "base/names.hpp"

namespace pptrain {

std::string format_complaint(const Complaint& complaint) {
  std::string text;
  if (!complaint.where.empty()) text += shown(complaint.where) + ": ";
  text += shown(complaint.problem);
  if (!complaint.reason.empty()) text += " (" + shown(complaint.reason) + ")";
  if (!complaint.suggestion.empty()) text += "; " + shown(complaint.suggestion);
  return text;
}

void throw_bad_input(const Complaint& complaint) {
  throw Error(ExitCode::bad_input, format_complaint(complaint));
}

void throw_no_feasible_plan(const Complaint& complaint) {
  throw Error(ExitCode::no_feasible_plan, format_complaint(complaint));
}

void throw_runtime_failure(const Complaint& complaint) {
  throw Error(ExitCode::runtime_failure, format_complaint(complaint));
}

void detail::broken_invariant(const char* expression, const std::string& values,
                              std::source_location where) {
  log_error("broken invariant at {}:{} in {}: {} {}", where.file_name(), where.line(),
            where.function_name(), expression, values);
  std::abort();
}

}  // namespace pptrain
