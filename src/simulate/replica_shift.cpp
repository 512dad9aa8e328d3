#include "simulate/replica_shift.hpp"

#include <algorithm>
#include <numeric>

namespace pptrain {
namespace {

bool same(const Link& a, const Link& b) {
  return a.bandwidth == b.bandwidth && a.latency == b.latency;
}

/// Looks whether a shift that makes `turns` until all are back leaves a plan on a cluster as it is.
class ShiftCheck {
 public:
  ShiftCheck(const Cluster& cluster, const Plan& plan, int turns)
      : cluster_(cluster),
        plan_(plan),
        turns_(turns),
        shifted_(static_cast<std::size_t>(cluster.num_nodes()) + cluster.switches.size(), -1),
        taken_(shifted_.size(), 0) {}

  bool run() {
    return std::all_of(plan_.stages.begin(), plan_.stages.end(), [this](const Stage& stage) {
      return same_samples(stage) && same_groups(stage) && same_slices(stage) && same_places(stage);
    });
  }

  /// Where each owner of an uplink comes to; -1: the plan uses none.
  const std::vector<int>& shifted() const { return shifted_; }

 private:
  int shifted_replica(const Stage& stage, int replica) const {
    return (replica + stage.replicas / turns_) % stage.replicas;
  }

  bool same_samples(const Stage& stage) const {
    const std::int64_t all = plan_.micro_batch_size;
    for (int r = 0; r < stage.replicas; ++r) {
      const Interval& before = stage.samples[static_cast<std::size_t>(r)];
      const Interval& after = stage.samples[static_cast<std::size_t>(shifted_replica(stage, r))];
      if (after.size() != before.size() || after.begin != (before.begin + all / turns_) % all)
        return false;
    }
    return true;
  }

  /// Replicas that divide their state among themselves still do.
  bool same_groups(const Stage& stage) const {
    const std::vector<Interval> groups = stage.sharding_groups();
    if (groups.size() == 1) return true;
    std::vector<char> begins(static_cast<std::size_t>(stage.replicas), 0);
    for (const Interval& group : groups) begins[static_cast<std::size_t>(group.begin)] = 1;
    for (int r = 0; r < stage.replicas; ++r) {
      if (begins[static_cast<std::size_t>(r)] !=
          begins[static_cast<std::size_t>(shifted_replica(stage, r))]) {
        return false;
      }
    }
    return true;
  }

  bool same_slices(const Stage& stage) const {
    for (int r = 0; r < stage.replicas; ++r) {
      if (stage.slices_of(r) != stage.slices_of(shifted_replica(stage, r))) return false;
    }
    return true;
  }

  bool same_places(const Stage& stage) {
    for (int r = 0; r < stage.replicas; ++r) {
      const std::vector<DeviceId>& before = stage.devices[static_cast<std::size_t>(r)];
      const std::vector<DeviceId>& after =
          stage.devices[static_cast<std::size_t>(shifted_replica(stage, r))];
      for (std::size_t k = 0; k < before.size(); ++k) {
        if (!may_come(before[k], after[k])) return false;
      }
    }
    return true;
  }

  bool may_come(DeviceId device, DeviceId place) {
    const int from = cluster_.node_of(device);
    const int to = cluster_.node_of(place);
    if (shifted_[static_cast<std::size_t>(from)] >= 0)
      return shifted_[static_cast<std::size_t>(from)] == to;
    const NodeGroup& here = cluster_.group_of_node(from);
    const NodeGroup& there = cluster_.group_of_node(to);
    const bool alike = here.device_kind == there.device_kind && same(here.link, there.link) &&
                       same(here.uplink, there.uplink) && same(here.host_link, there.host_link);
    return alike && owner_may_come(from, to) &&
           switches_may_come(here.switch_name, there.switch_name);
  }

  bool owner_may_come(int from, int to) {
    int& place = shifted_[static_cast<std::size_t>(from)];
    if (place >= 0) return place == to;
    char& taken = taken_[static_cast<std::size_t>(to)];
    if (taken != 0) return false;
    taken = 1;
    place = to;
    return true;
  }

  /// A name without an entry is the root's.
  int switch_named(const std::string& name) const {
    const auto found = std::find_if(cluster_.switches.begin(), cluster_.switches.end(),
                                    [&name](const Switch& one) { return one.name == name; });
    return found == cluster_.switches.end() ? -1
                                            : static_cast<int>(found - cluster_.switches.begin());
  }

  bool switches_may_come(const std::string& from, const std::string& to) {
    int here = switch_named(from);
    int there = switch_named(to);
    while (here >= 0 && there >= 0) {
      const Switch& one = cluster_.switches[static_cast<std::size_t>(here)];
      const Switch& other = cluster_.switches[static_cast<std::size_t>(there)];
      const int nodes = cluster_.num_nodes();
      if (!same(one.uplink, other.uplink) || !owner_may_come(nodes + here, nodes + there))
        return false;
      here = switch_named(one.parent);
      there = switch_named(other.parent);
    }
    return here < 0 && there < 0;
  }

  const Cluster& cluster_;
  const Plan& plan_;
  int turns_;
  std::vector<int> shifted_;
  std::vector<char> taken_;  // by owner: another comes to it
};

/// Whether replica sends to replica, and member to member, where stages exchange gradients of tied
/// parameters.
bool tied_alike(const Plan& plan, const std::vector<Tie>& ties) {
  const Stage* before = nullptr;
  for (const TieEnd& end : tie_ends(plan, ties)) {
    const Stage& stage = plan.stages[end.stage.index()];
    const bool alike = before == nullptr || (before->replicas == stage.replicas &&
                                             before->tensor_parallel == stage.tensor_parallel);
    if (!alike) return false;
    before = &stage;
  }
  return true;
}

/// What the number of turns divides.
int most_turns(const Plan& plan, const std::vector<Tie>& ties) {
  if (!tied_alike(plan, ties)) return 1;
  std::int64_t most = plan.micro_batch_size;
  for (const Stage& stage : plan.stages) {
    if (!stage.blocks.empty()) return 1;
    most = std::gcd(most, static_cast<std::int64_t>(stage.replicas));
  }
  return static_cast<int>(most);
}

int num_places(const Plan& plan) {
  int most = -1;
  for (const Stage& stage : plan.stages) {
    for (const std::vector<DeviceId>& replica : stage.devices) {
      for (const DeviceId device : replica) most = std::max(most, device.value);
    }
  }
  return most + 1;
}

}  // namespace

ReplicaShift::ReplicaShift(const Plan& plan)
    : plan_(&plan), places_(static_cast<std::size_t>(num_places(plan))) {
  for (int s = 0; s < plan.num_stages(); ++s) {
    const Stage& stage = plan.stages[static_cast<std::size_t>(s)];
    for (int r = 0; r < stage.replicas; ++r) {
      for (int k = 0; k < stage.tensor_parallel; ++k)
        places_[stage.devices[r][k].index()] = {s, r, k};
    }
  }
  set_turns(1);
}

ReplicaShift::ReplicaShift(const Cluster& cluster, const Plan& plan, const std::vector<Tie>& ties)
    : ReplicaShift(plan) {
  const int most = most_turns(plan, ties);
  for (int turns = most; turns > 1; --turns) {
    if (most % turns != 0) continue;
    ShiftCheck check(cluster, plan, turns);
    if (!check.run()) continue;
    set_turns(turns);
    find_owners(check.shifted());
    return;
  }
}

void ReplicaShift::set_turns(int turns) {
  turns_ = turns;
  replicas_.clear();
  first_ = {0};
  for (const Stage& stage : plan_->stages) {
    replicas_.push_back(stage.replicas / turns);
    first_.push_back(first_.back() + replicas_.back() * stage.tensor_parallel);
  }
}

void ReplicaShift::find_owners(const std::vector<int>& shifted) {
  owners_.resize(shifted.size());
  for (int owner = 0; owner < static_cast<int>(shifted.size()); ++owner) {
    if (shifted[static_cast<std::size_t>(owner)] < 0 ||
        owners_[static_cast<std::size_t>(owner)].first >= 0)
      continue;
    std::vector<int> cycle = {owner};
    for (int next = shifted[static_cast<std::size_t>(owner)]; next != owner;
         next = shifted[static_cast<std::size_t>(next)]) {
      cycle.push_back(next);
    }
    for (const int member : cycle) {
      owners_[static_cast<std::size_t>(member)] = {owner, static_cast<int>(cycle.size())};
    }
  }
}

std::vector<int> ReplicaShift::representatives() const {
  std::vector<int> numbers;
  int first = 0;
  for (std::size_t s = 0; s < replicas_.size(); ++s) {
    const Stage& stage = plan_->stages[s];
    for (int d = 0; d < replicas_[s] * stage.tensor_parallel; ++d) numbers.push_back(first + d);
    first += stage.replicas * stage.tensor_parallel;
  }
  return numbers;
}

std::vector<int> ReplicaShift::representative_of_each() const {
  std::vector<int> numbers;
  for (std::size_t s = 0; s < replicas_.size(); ++s) {
    const int num = first_[s + 1] - first_[s];
    for (int d = 0; d < turns_ * num; ++d) numbers.push_back(first_[s] + d % num);
  }
  return numbers;
}

int ReplicaShift::representative_of(DeviceId device) const {
  const Place place = place_of(device);
  const auto stage = static_cast<std::size_t>(place.stage);
  return first_[stage] + place.replica % replicas_[stage] * plan_->stages[stage].tensor_parallel +
         place.member;
}

int ReplicaShift::turns_to(DeviceId device) const {
  const Place place = place_of(device);
  return place.replica / replicas(place.stage);
}

DeviceId ReplicaShift::before(DeviceId device, int turns) const {
  const Place place = place_of(device);
  const Stage& stage = plan_->stages[static_cast<std::size_t>(place.stage)];
  const int replica = (place.replica + (turns_ - turns) * replicas(place.stage)) % stage.replicas;
  return stage.devices[static_cast<std::size_t>(replica)][static_cast<std::size_t>(place.member)];
}

}  // namespace pptrain
