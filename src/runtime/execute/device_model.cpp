#include "runtime/execute/device_model.hpp"

#include <algorithm>

#include "base/error.hpp"

namespace pptrain {

namespace {

/// Rows per sample of what goes into the first layer of a part.
std::int64_t rows_before(const Model& model, const PartRole& part) {
  return model.layers[static_cast<std::size_t>(part.layers.front().begin)].input->packed().rows;
}

}  // namespace

DeviceModel::DeviceModel(const DeviceContext& device, const Plan& plan, const RankMap& map,
                         const Role& role, RankGroups& groups, const LayerFactory& make) {
  const Stage& stage = plan.stages[role.stage.index()];
  for (const PartRole& part : part_roles(plan, role)) {
    const auto index = static_cast<std::size_t>(part.index);
    parts_.push_back(std::make_unique<PartModel>(device, plan, part, *groups.parts()[index], make));
    for (const ChunkId chunk : part.chunks) parts_of_[chunk.value].push_back(parts_.back().get());
    if (index == 0) continue;
    between_.emplace_back(
        parts_[index - 1]->role().holding, part.holding,
        Repartition::Context{map, groups.between_parts(), device.waiter, device.arena,
                             role.replica * stage.tensor_parallel + role.shard, 2 * part.index,
                             static_cast<std::size_t>(rows_before(device.model, part))});
  }
}

PartModel& DeviceModel::only() const {
  PPTRAIN_ASSERT(parts_.size() == 1, "a stage of {} parts", parts_.size());
  return *parts_.front();
}

void DeviceModel::fill(const std::function<void(const ParameterSpec&, Interval, float*)>& values) {
  for (const auto& part : parts_) part->parameters().fill(values);
}

void DeviceModel::gather(ChunkId chunk) {
  ++num_chunk_gathers_;
  for (PartModel* part : parts_of(chunk)) part->gather(chunk);
}

void DeviceModel::release(ChunkId chunk) {
  for (PartModel* part : parts_of(chunk)) part->release(chunk);
}

void DeviceModel::announce(const Instruction* next) {
  const PartModel* begins = nullptr;
  if (next != nullptr) {
    const bool forwards = next->op == Op::forward || next->op == Op::evaluate;
    begins = forwards ? parts_of(next->chunk()).front() : parts_of(next->chunk()).back();
  }
  for (const auto& part : parts_) part->announce(part.get() == begins ? next : nullptr);
}

void DeviceModel::carry() {
  for (const auto& part : parts_) part->shards().carry();
}

void DeviceModel::begin(ChunkId chunk, GradientPass pass) {
  for (PartModel* part : parts_of(chunk)) part->shards().begin(pass);
}

void DeviceModel::reduce(ChunkId chunk) {
  for (PartModel* part : parts_of(chunk)) part->shards().reduce(chunk);
}

void DeviceModel::drop_summed() {
  for (const auto& part : parts_) part->shards().drop_summed();
}

void DeviceModel::progress() {
  for (const auto& part : parts_) part->shards().progress();
}

void DeviceModel::settle() {
  for (const auto& part : parts_) part->shards().settle();
}

bool DeviceModel::Reductions::advance(bool (Pending::*ended)()) {
  bool all = true;
  for (const auto& part : device_.parts_) all = (part->shards().reductions().*ended)() && all;
  return all;
}

std::string DeviceModel::Reductions::missing() const {
  std::string missing = nothing_missing;
  for (const auto& part : device_.parts_) {
    if (missing == nothing_missing) missing = part->shards().reductions().missing();
  }
  return missing;
}

}  // namespace pptrain
