#pragma once

#include <set>
#include <string>
#include <vector>

#include "export_plan/export_plan.hpp"
#include "export_plan/launch.hpp"

namespace pptrain {

/// Stages that follow one another with one shape on one kind of device: FlagScale's process mesh.
struct ProcessMesh {
  int tensor = 1;
  int expert = 1;
  int data = 1;
  int stages = 0;
  int expert_tensor = 1;
  std::string kind;  ///< of its devices
  std::set<int> nodes;
  std::string type;  ///< by which FlagScale sorts processes
};

/// The meshes of a plan in the order of its stages, each of which has devices of one kind.
std::vector<ProcessMesh> process_meshes(const ExportedPlan& exported, const LaunchOrder& order);

}  // namespace pptrain
