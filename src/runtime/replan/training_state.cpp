#include "runtime/replan/training_state.hpp"

#include <algorithm>
#include <cstring>
#include <map>
#include <tuple>

#include "base/error.hpp"

namespace pptrain {
namespace {

using Numbers = std::array<std::int64_t, 13>;

Numbers numbers_of(const StatePart& p) {
  return {p.parameter,          p.quantity,        static_cast<std::int64_t>(p.division.axis),
          p.division.dimension, p.division.groups, p.division.unit,
          p.part.begin,         p.part.end,        p.axis_size,
          p.local.begin,        p.local.end,       p.division.sharing,
          p.division.expert};
}

StatePart part_of(const Numbers& n) {
  StatePart p;
  p.parameter = static_cast<int>(n[0]);
  p.quantity = static_cast<int>(n[1]);
  p.division.axis = static_cast<ShardAxis>(n[2]);
  p.division.dimension = static_cast<int>(n[3]);
  p.division.groups = n[4];
  p.division.unit = n[5];
  p.part = {n[6], n[7]};
  p.axis_size = n[8];
  p.local = {n[9], n[10]};
  p.division.sharing = n[11];
  p.division.expert = n[12];
  return p;
}

StatePart part_of(int index, const LocalParameter& parameter, int quantity, Interval local,
                  float* values, Device& device) {
  StatePart part = {index, quantity, parameter.spec, parameter.part, parameter.axis_size,
                    local, values,   &device};
  part.division.name.clear();
  return part;
}

/// What the optimizer keeps of the elements `own` of a parameter.
StatePart state_part(int index, const LocalParameter& parameter, int quantity, Interval own,
                     const RunState& state, Device& device) {
  if (state.extent == StateExtent::elements)
    return part_of(index, parameter, quantity, own, state.values, device);
  const std::size_t all = state.extent == StateExtent::rows ? parameter.rows : parameter.columns;
  StatePart part = part_of(index, parameter, quantity, {0, static_cast<std::int64_t>(all)},
                           state.values, device);
  part.division = state_spec(parameter.spec, state.extent);
  part.division.name.clear();
  return part;
}

}  // namespace

std::vector<StatePart> held_state(const Model& model, Session& session) {
  std::vector<StatePart> parts;
  if (session.device() == nullptr) return parts;
  std::map<std::string, int> index;
  for (const ParameterSpec& spec : stored_tensors(model))
    index.emplace(spec.name, static_cast<int>(index.size()));
  const std::vector<std::vector<RunState>> state = session.optimizer()->state();
  Device& state_device = session.optimizer()->state_device();
  Device& device = session.arena().device();
  std::size_t run = 0;  // of the optimizer, over all parts
  for (const auto& part : session.device()->parts()) {
    const ParameterStore& store = part->parameters();
    if (!store.sharding().shards_weights()) {
      for (std::size_t i = 0; i < store.parameters().size(); ++i) {
        const LocalParameter& p = store.parameters()[i];
        const Interval whole = {0, static_cast<std::int64_t>(p.size())};
        parts.push_back(part_of(index.at(p.spec.name), p, 0, whole, store.weight(i), device));
      }
    }
    for (std::size_t i = 0; i < store.buffers().specs().size(); ++i) {
      const ParameterSpec& spec = store.buffers().specs()[i];
      StatePart& held = parts.emplace_back();
      held.parameter = index.at(spec.name);
      held.part = {0, 1};
      held.local = {0, spec.size()};
      held.values = store.buffers().values(i);
      held.device = &device;
    }
    for (const OwnPart& own : store.own_parts()) {
      const LocalParameter& p = store.parameters()[own.parameter];
      const int parameter = index.at(p.spec.name);
      const Interval local = {own.begin, own.begin + static_cast<std::int64_t>(own.size)};
      if (store.sharding().shards_weights())
        parts.push_back(part_of(parameter, p, 0, local, own.weights, device));
      for (std::size_t k = 0; k < state[run].size(); ++k) {
        parts.push_back(
            state_part(parameter, p, static_cast<int>(k) + 1, local, state[run][k], state_device));
      }
      ++run;
    }
  }
  std::stable_sort(parts.begin(), parts.end(), [](const StatePart& a, const StatePart& b) {
    return std::tie(a.parameter, a.quantity) < std::tie(b.parameter, b.quantity);
  });
  return parts;
}

void refresh_copies(Session& session) {
  if (session.device() == nullptr) return;
  for (const auto& part : session.device()->parts()) part->parameters().refresh_copies();
}

std::vector<Interval> elements_of(const StatePart& part, const ParameterSpec& quantity) {
  ParameterSpec spec = part.division;
  spec.name = quantity.name;
  spec.shape = quantity.shape;
  std::vector<Interval> held;
  std::int64_t offset = 0;
  for (const Interval& run : spec.shard_elements(part.part, part.axis_size)) {
    const Interval common = intersect({offset, offset + run.size()}, part.local);
    if (!common.empty())
      held.push_back({run.begin + common.begin - offset, run.begin + common.end - offset});
    offset += run.size();
  }
  return held;
}

std::string pack_parts(const std::vector<StatePart>& parts) {
  std::string packed(parts.size() * sizeof(Numbers), '\0');
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const Numbers numbers = numbers_of(parts[i]);
    std::memcpy(packed.data() + i * sizeof(Numbers), numbers.data(), sizeof(Numbers));
  }
  return packed;
}

std::vector<StatePart> unpack_parts(const std::string& packed) {
  PPTRAIN_ASSERT(packed.size() % sizeof(Numbers) == 0, "packed parts of {} bytes are torn",
                 packed.size());
  std::vector<StatePart> parts;
  for (std::size_t offset = 0; offset < packed.size(); offset += sizeof(Numbers)) {
    Numbers numbers;
    std::memcpy(numbers.data(), packed.data() + offset, sizeof(Numbers));
    parts.push_back(part_of(numbers));
  }
  return parts;
}

}  // namespace pptrain
