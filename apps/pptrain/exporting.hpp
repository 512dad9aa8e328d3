#pragma once

#include "options.hpp"

namespace pptrain {

/// `pptrain export-plan`: writes a plan as the files of another trainer.
void run_export_plan(const Options& options);

}  // namespace pptrain
