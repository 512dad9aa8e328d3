#pragma once

#include <nlohmann/json.hpp>

#include "report/run_folder.hpp"

namespace pptrain {

/// All that a report shows of a run (`pptrain.report/1`), reduced to what can be drawn: at most a
/// thousand points of a series, and timelines of at most some thousand tasks, simulated for the
/// last plan and measured where there is a trace.
nlohmann::json report_document(const RunFolder& run);

}  // namespace pptrain
