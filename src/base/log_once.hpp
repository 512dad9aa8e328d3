#pragma once

#include <string_view>

namespace pptrain {

/// `log_notice` and `log_warning` of what every rank finds, and finds more than once, as in a file
/// that all of them read: said the first time in a process, and on ranks above 0 not at all.
void log_notice_once(std::string_view text);
void log_warning_once(std::string_view text);

}  // namespace pptrain
