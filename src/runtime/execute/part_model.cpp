#include "runtime/execute/part_model.hpp"

#include <algorithm>

#include "base/error.hpp"
#include "runtime/execute/sharded_layer.hpp"
#include "schedule/schedule.hpp"

namespace pptrain {

PartModel::PartModel(const DeviceContext& device, const Plan& plan, const PartRole& role,
                     PartGroups& groups, const LayerFactory& make)
    : role_(role),
      groups_(groups),
      shards_(store_, groups, device.waiter,
              {device.gradient_type, &device.arena, &device.backend.kernels},
              role.division == WeightDivision::exchange ? &groups.tensor() : nullptr),
      context_{device.backend, device.arena,     groups.tensor(),     store_,       device.model,
               device.type,    role.mesh.shards, role.mesh.recompute, role.division} {
  context_.replicas = groups.statistics();
  context_.samples = role.mesh.samples;
  for (std::size_t i = 0; i < role.chunks.size(); ++i)
    add_chunk(role.chunks[i], role.layers[i], make);
  find_copies(device.ties, tie_ends(plan, device.ties));
  gathers_chunks_ = plan.stages[role.stage.index()].gathers_chunks();
  const Interval group = role.mesh.sharding_group_of(role.replica);
  in_first_group_ = group.begin == 0;
  store_.allocate(device.arena, device.backend.kernels, device.type,
                  {role.mesh.zero_stage, role.replica - static_cast<int>(group.begin),
                   static_cast<int>(group.size()), role.mesh.zero_slices});
}

std::int64_t PartModel::first_layer(ChunkId chunk) const {
  const auto found = std::find(role_.chunks.begin(), role_.chunks.end(), chunk);
  return role_.layers[static_cast<std::size_t>(found - role_.chunks.begin())].begin;
}

void PartModel::add_chunk(ChunkId chunk, Interval layers, const LayerFactory& make) {
  std::vector<std::unique_ptr<LayerModule>> plain;
  std::vector<ShardedLayer::Units> units;
  for (std::int64_t l = layers.begin; l < layers.end; ++l) {
    const std::size_t known = store_.num_units();
    plain.push_back(make(context_.model.layers[l], chunk, context_));
    units.emplace_back();
    for (std::size_t unit = store_.num_units(); unit-- > known;) units.back().begun.push_back(unit);
    units.back().own = units_read(context_.model.layers[l]);
    units_of_chunk_[chunk.value].insert(units.back().own.begin(), units.back().own.end());
  }
  for (std::size_t i = 0; i < plain.size(); ++i) {
    if (i > 0) units[i].before = units[i - 1].own;
    if (i + 1 < plain.size()) units[i].after = units[i + 1].own;
    chunks_[chunk.value].push_back(
        std::make_unique<ShardedLayer>(std::move(plain[i]), shards_, chunk, units[i]));
  }
  end_units_[chunk.value] = {units.front().own, units.back().own};
}

void PartModel::find_copies(const std::vector<Tie>& ties, const std::vector<TieEnd>& ends) {
  for (std::size_t e = 0; e < ends.size(); ++e) {
    if (ends[e].stage != role_.stage || ends[e].part != role_.index) continue;
    const Tie& tie = ties[static_cast<std::size_t>(ends[e].tie)];
    tied_units_.insert(tied_unit(tie));
    if (e > 0 && are_tied(ends[e - 1], ends[e])) later_copies_.insert(tie.name);
  }
}

/// The unit of the layer just made, and those of tied parameters.
std::vector<std::size_t> PartModel::units_read(const Layer& layer) const {
  std::set<std::size_t, std::greater<>> units = {store_.num_units() - 1};
  for (const ParameterSpec& spec : layer.parameters) {
    units.insert(store_.parameters()[store_.find(spec.name).value()].unit);
  }
  return {units.begin(), units.end()};
}

void PartModel::gather(ChunkId chunk) {
  for (const std::size_t unit : units_of_chunk_.at(chunk.value)) shards_.hold(unit);
}

void PartModel::release(ChunkId chunk) {
  for (const std::size_t unit : units_of_chunk_.at(chunk.value)) shards_.release(unit);
}

void PartModel::announce(const Instruction* next) {
  if (gathers_chunks_ || next == nullptr) return shards_.announce({});
  const auto& [first, last] = end_units_.at(next->chunk().value);
  shards_.announce(next->op == Op::forward || next->op == Op::evaluate ? first : last);
}

std::size_t PartModel::tied_parameter(const Tie& tie) const {
  const std::optional<std::size_t> found = store_.find(tie.name);
  PPTRAIN_ASSERT(found, "no {} in part {} of stage {}", tie.name, role_.index, role_.stage.value);
  return *found;
}

bool PartModel::counts(const LocalParameter& parameter) const {
  if (!in_first_group_ || (role_.replica != 0 && !store_.sharding().shards_optimizer()))
    return false;
  if (later_copies_.contains(parameter.spec.name)) return false;
  return parameter.spec.axis != ShardAxis::none || role_.shard == 0;
}

Interval PartModel::counted(const OwnPart& own) const {
  const LocalParameter& parameter = store_.parameters()[own.parameter];
  const Interval whole = {own.begin, own.begin + static_cast<std::int64_t>(own.size)};
  if (!counts(parameter)) return {whole.begin, whole.begin};
  return intersect(whole, {held_before(parameter), static_cast<std::int64_t>(parameter.size())});
}

UpdateGroups PartModel::update_groups() {
  UpdateGroups groups;
  groups.store = &store_;
  groups.members = &groups_.tensor();
  if (store_.sharding().shards_optimizer()) groups.owners = &groups_.data();
  groups.parts = [this](ShardAxis axis) { return context_.parts(axis); };
  groups.distinct = [this](const LocalParameter& parameter) {
    return Interval{held_before(parameter), static_cast<std::int64_t>(parameter.size())};
  };
  return groups;
}

/// Elements at the front that a member before this one holds too. What members share is a unit of
/// rows, and the parameters that do have one group of them.
std::int64_t PartModel::held_before(const LocalParameter& parameter) const {
  const AxisDivision division = parameter.spec.division();
  if (division.sharing == 1 || parameter.part.begin == 0) return 0;
  const std::vector<Interval> parts = context_.parts(division.axis);
  const std::int64_t end = division.units(parts[static_cast<std::size_t>(role_.shard) - 1]).end;
  const Interval own = division.units(parameter.part);
  return std::max<std::int64_t>(0, std::min(end, own.end) - own.begin) *
         static_cast<std::int64_t>(parameter.size()) / own.size();
}

}  // namespace pptrain
