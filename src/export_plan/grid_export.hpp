#pragma once

#include <string>
#include <utility>
#include <vector>

#include "export_plan/grid.hpp"
#include "export_plan/launch.hpp"

namespace pptrain {

/// What the exports have in common whose trainers run plans of like stages only.
class GridExport {
 protected:
  /// `exported` must outlive it.
  explicit GridExport(const ExportedPlan& exported)
      : exported_(exported),
        plan_(exported.plan),
        shape_(exported.shape),
        grid_(grid_of(exported.plan)) {}

  /// The trainer's own files, those that start its processes by `command` (`launch_scripts`), and
  /// the page.
  std::vector<ExportFile> files_with(std::vector<ExportFile> own, const std::string& command,
                                     ExportFile page) const {
    const LaunchOrder order = launch_order(plan_, exported_.cluster);
    for (ExportFile& file : launch_scripts(exported_, order, command))
      own.push_back(std::move(file));
    own.push_back(std::move(page));
    return own;
  }

  const ExportedPlan& exported_;
  const Plan& plan_;
  const DecoderShape& shape_;
  ExportGrid grid_;
};

}  // namespace pptrain
