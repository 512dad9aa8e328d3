#include "planners/whole_experts.hpp"

namespace pptrain {
namespace {

template <class Mesh>
void give(Mesh& mesh, std::int64_t experts) {
  const int members = mesh.tensor_parallel;
  if (members == 1 || experts % members != 0 || !mesh.shards.empty()) return;
  mesh.shards["experts"] = even_division(experts, members);
}

}  // namespace

void give_whole_experts(Plan& plan, const Profile& profile) {
  const auto experts = profile.axes.find("experts");
  if (experts == profile.axes.end()) return;
  for (Stage& stage : plan.stages) {
    give(stage, experts->second);
    for (Block& block : stage.blocks) give(block, experts->second);
  }
}

}  // namespace pptrain
