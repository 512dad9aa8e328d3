#pragma once

#include <string>
#include <vector>

#include "export_plan/grid.hpp"
#include "export_plan/launch.hpp"

namespace pptrain {

/// What the exports have in common whose trainers run plans of like stages only.
class GridExport {
 protected:
  /// Refuses a plan that is no grid, and a model that is no decoder. `exported` must outlive it.
  GridExport(const ExportedPlan& exported, const TrainerName& trainer)
      : exported_(exported),
        plan_(exported.plan),
        shape_(decoder_shape(exported.model, trainer.title, exported.source)),
        grid_(grid_of(exported, trainer)),
        order_(launch_order(exported.plan, exported.cluster)) {}

  [[noreturn]] void refuse(const std::string& problem, const std::string& reason, const std::string& suggestion) const {
    refuse_plan(exported_, problem, reason, suggestion);
  }

  /// The trainer's own files, those that start its processes by `command` (`launch_scripts`), and the page.
  std::vector<ExportFile> files_with(std::vector<ExportFile> own, const std::string& command, ExportFile page) const {
    for (ExportFile& file : launch_scripts(exported_, order_, command)) own.push_back(std::move(file));
    own.push_back(std::move(page));
    return own;
  }

  const ExportedPlan& exported_;
  const Plan& plan_;
  DecoderShape shape_;
  ExportGrid grid_;
  LaunchOrder order_;
};

}  // namespace pptrain
