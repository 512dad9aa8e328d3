#include "simulate/received_gathers.hpp"

#include <map>
#include <tuple>

#include "cost/collective.hpp"
#include "cost/stage_time.hpp"

namespace pptrain {

namespace {

/// Devices of a group, whether or not they have a program.
std::vector<DeviceId> members_of(const Stage& stage, int number, Payload payload) {
  if (payload != Payload::tied_gradient) return stage.devices[static_cast<std::size_t>(number)];
  return shard_group(stage, number);
}

}  // namespace

ReceivedGathers::ReceivedGathers(const Instance& instance, const Plan& plan,
                                 const Programs& programs)
    : instance_(instance) {
  std::map<std::tuple<int, int, Payload>, int> known;  // by stage, number in it and payload
  for (std::size_t p = 0; p < programs.size(); ++p) {
    numbers_.emplace_back();
    for (const Payload payload : {Payload::activation, Payload::tied_gradient}) {
      const int number = gather_group(plan, programs[p], payload).number;
      const auto [entry, is_new] = known.try_emplace({programs[p].stage.value, number, payload},
                                                     static_cast<int>(groups_.size()));
      if (is_new) groups_.emplace_back();
      numbers_[p][payload == Payload::tied_gradient] = entry->second;
      Group& group = group_of(static_cast<int>(p), payload);
      group.programs.push_back(static_cast<int>(p));
      if (is_new)
        group.devices = members_of(plan.stages[programs[p].stage.index()], number, payload);
    }
  }
}

ReceivedGathers ReceivedGathers::of_classes(const SimulatedClasses& classes) const {
  ReceivedGathers made(instance_);
  for (const int p : classes.programs.first) {
    const auto& [cut, tied] = numbers_[static_cast<std::size_t>(p)];
    made.numbers_.push_back({classes.received_gathers.of[cut], classes.received_gathers.of[tied]});
  }
  for (const int number : classes.received_gathers.first) {
    Group& group = made.groups_.emplace_back(groups_[static_cast<std::size_t>(number)]);
    group.programs = classes.programs.classes_of(group.programs);
  }
  return made;
}

const ReceivedGathers::Group& ReceivedGathers::of(int program, Payload payload) {
  Group& group = group_of(program, payload);
  if (!group.link) group.link = instance_.cluster.slowest_link(group.devices);
  return group;
}

const ReceivedGathers::Group* ReceivedGathers::come(int program, Payload payload) {
  Group& group = group_of(program, payload);
  if (++group.arrived < static_cast<int>(group.programs.size())) return nullptr;
  group.arrived = 0;
  return &of(program, payload);
}

double ReceivedGathers::seconds(const Group& group, double bytes) const {
  return all_gather_seconds(*group.link, static_cast<int>(group.devices.size()), bytes);
}

}  // namespace pptrain
