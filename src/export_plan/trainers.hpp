#pragma once

#include <vector>

#include "export_plan/export_plan.hpp"

namespace pptrain {

// The writers; only export_plan.cpp calls them. Each throws `Error` (exit code 2) for what its trainer cannot run.
std::vector<ExportFile> export_for_megatron(const ExportedPlan& exported);
std::vector<ExportFile> export_for_torchtitan(const ExportedPlan& exported);
std::vector<ExportFile> export_for_flagscale(const ExportedPlan& exported);
std::vector<ExportFile> export_for_deepspeed(const ExportedPlan& exported);

}  // namespace pptrain
