#include "export_plan/flagscale_meshes.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "plan/parts.hpp"

namespace pptrain {
namespace {

/// One stage as a mesh.
ProcessMesh mesh_of_stage(const ExportedPlan& exported, const LaunchOrder& order, int number) {
  const Stage& stage = exported.plan.stages[static_cast<std::size_t>(number)];
  ProcessMesh mesh;
  mesh.tensor = mesh.expert_tensor = stage.tensor_parallel;
  mesh.data = stage.replicas;
  mesh.stages = 1;
  mesh.kind = exported.cluster.kind_of(stage.devices.front().front()).name;
  if (divides_experts(stage.shards)) {
    mesh.expert = stage.tensor_parallel;
    mesh.expert_tensor = 1;
  }
  if (!stage.blocks.empty()) mesh.expert = stage.blocks.front().tensor_parallel;
  for (const ExportRank& rank : order.ranks) {
    if (rank.stage == number) mesh.nodes.insert(rank.node);
  }
  return mesh;
}

bool same_shape(const ProcessMesh& a, const ProcessMesh& b) {
  return a.tensor == b.tensor && a.data == b.data && a.kind == b.kind && a.expert == b.expert &&
         a.expert_tensor == b.expert_tensor;
}

/// FlagScale sorts processes by the first mesh of their type, and a host has one type: meshes that
/// share a host have one type, all others types of their own.
void name_types(std::vector<ProcessMesh>& meshes) {
  for (std::size_t m = 0; m < meshes.size(); ++m) {
    const bool shares =
        m > 0 && std::any_of(meshes[m].nodes.begin(), meshes[m].nodes.end(),
                             [&](int node) { return meshes[m - 1].nodes.contains(node); });
    std::string name = meshes[m].kind;
    std::replace(name.begin(), name.end(), ' ', '_');
    meshes[m].type = shares ? meshes[m - 1].type : fmt::format("{}-mesh{}", name, m);
  }
}

}  // namespace

std::vector<ProcessMesh> process_meshes(const ExportedPlan& exported, const LaunchOrder& order) {
  std::vector<ProcessMesh> meshes;
  for (int s = 0; s < exported.plan.num_stages(); ++s) {
    ProcessMesh mesh = mesh_of_stage(exported, order, s);
    if (meshes.empty() || !same_shape(meshes.back(), mesh)) {
      meshes.push_back(std::move(mesh));
    } else {
      ++meshes.back().stages;
      meshes.back().nodes.merge(mesh.nodes);
    }
  }
  name_types(meshes);
  return meshes;
}

}  // namespace pptrain
