#pragma once

#include <string>
#include <vector>

#include "export_plan/export_plan.hpp"

namespace pptrain {

/// How plans are written for a trainer; only export_plan.cpp calls it.
struct TrainerExport {
  std::string trainer;
  /// Throws `Error` (exit code 2) for what the trainer cannot be told of the job.
  void (*check_job)(const ExportedJob& job);
  /// Why the trainer cannot run a plan, beside what its `TrainerKind` says.
  PossibleMisfit (*misfit)(const ExportedPlan& exported, const TrainerKind& trainer);
  /// The files of a plan that the trainer can run.
  std::vector<ExportFile> (*write)(const ExportedPlan& exported);
};

TrainerExport megatron_export();
TrainerExport torchtitan_export();
TrainerExport flagscale_export();
TrainerExport deepspeed_export();

}  // namespace pptrain
