#include "runtime/device_model.hpp"

#include "schedule/schedule.hpp"

namespace pptrain {
namespace {

Interval shard_of(const Model& model, const Plan& plan, const Role& role, ShardAxis axis) {
  return shard_interval(plan.stages[role.stage.index()], to_string(axis), model.axis_size(axis), role.shard);
}

}  // namespace

DeviceModel::DeviceModel(const Model& model, const Plan& plan, const Role& role, DType type, Arena& arena, Gemm& gemm,
                         Communicator& tensor_group)
    : role_(role),
      context_{gemm,
               arena,
               tensor_group,
               store_,
               model,
               type,
               shard_of(model, plan, role, ShardAxis::heads),
               shard_of(model, plan, role, ShardAxis::columns),
               shard_of(model, plan, role, ShardAxis::vocabulary),
               plan.stages[role.stage.index()].recompute} {
  const std::vector<ChunkPlace> places = chunk_places(plan);
  for (int c = 0; c < static_cast<int>(places.size()); ++c) {
    if (places[c].stage != role.stage) continue;
    auto& layers = chunks_[c];
    for (std::int64_t l = places[c].layers.begin; l < places[c].layers.end; ++l) {
      layers.push_back(make_layer(model.layers[l], ChunkId(c), context_));
    }
  }
  shares_embedding_ = model.tied && places.back().stage == role.stage && places.front().stage != role.stage;
  store_.allocate(arena, type);
}

bool DeviceModel::counts(const LocalParameter& parameter) const {
  if (role_.replica != 0) return false;
  if (parameter.spec.axis == ShardAxis::none) return role_.shard == 0;
  return !(shares_embedding_ && parameter.spec.axis == ShardAxis::vocabulary);
}

}  // namespace pptrain
