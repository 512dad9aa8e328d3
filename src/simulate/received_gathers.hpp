#pragma once

#include <array>
#include <optional>
#include <vector>

#include "cost/cost.hpp"
#include "program/program.hpp"
#include "simulate/partition.hpp"
#include "simulate/state_record.hpp"

namespace pptrain {

/// Gathers of received slices: those who need the same wait for the last of them, and then all take
/// part.
class ReceivedGathers {
 public:
  struct Group {
    std::vector<int> programs;  ///< of classes of programs one each
    std::vector<DeviceId> devices;
    std::optional<Link> link;  ///< the slowest of two members, once known
    int arrived = 0;
  };

  ReceivedGathers(const Instance& instance, const Plan& plan, const Programs& programs);

  /// The gathers of the first program of each class, among themselves.
  ReceivedGathers of_classes(const SimulatedClasses& classes) const;

  /// How many groups there are; numbers of groups are 0 to this - 1.
  int num_groups() const { return static_cast<int>(groups_.size()); }
  /// Number of a program's group.
  int number_of(int program, Payload payload) const {
    return numbers_[static_cast<std::size_t>(program)][payload == Payload::tied_gradient];
  }
  /// The group of a number. Its link may not be known yet: `of` looks it up.
  const Group& group(int number) const { return groups_[static_cast<std::size_t>(number)]; }
  /// The group of a program.
  const Group& of(int program, Payload payload);
  /// A program comes to a gather; returns its group when all have come.
  const Group* come(int program, Payload payload);
  /// Adds who waits for others.
  void describe(StateRecord& state) const {
    for (const Group& group : groups_) state.add_count(group.arrived);
  }
  /// How long the members of a group gather `bytes` that all of them need.
  double seconds(const Group& group, double bytes) const;

 private:
  explicit ReceivedGathers(const Instance& instance) : instance_(instance) {}
  Group& group_of(int program, Payload payload) {
    return groups_[static_cast<std::size_t>(number_of(program, payload))];
  }

  const Instance& instance_;
  std::vector<Group> groups_;
  std::vector<std::array<int, 2>> numbers_;  // by program: of cuts, of tied gradients
};

}  // namespace pptrain
