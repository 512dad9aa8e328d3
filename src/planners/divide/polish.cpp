#include "planners/divide/polish.hpp"

#include <algorithm>
#include <utility>

#include "planners/meshes/degrees.hpp"

namespace pptrain {
namespace {

/// Hill climbing from one plan.
class Polisher {
 public:
  Polisher(const SearchSpace& space, const Plan& plan)
      : space_(space),
        degrees_(space.instance),
        plan_(plan),
        seconds_(iteration_seconds(space.instance, plan)) {}

  Outcome run() {
    while (!space_.stop.requested() && improve()) {
    }
    Outcome outcome;
    outcome.complete = !space_.stop.requested();
    outcome.num_examined = num_examined_;
    outcome.plan = finished_plan(space_, std::move(plan_), plan_.planner);
    return outcome;
  }

 private:
  /// One round of all kinds of steps; whether any was taken.
  bool improve() {
    bool any = shift_layers();
    if (plan_.num_devices() > most_polished_devices) return any;
    any |= move_samples();
    any |= exchange_devices();
    any |= exchange_stages();
    return any;
  }

  /// Takes the step if it is one forward; else takes it back.
  bool keep(const std::vector<Stage>& before) {
    if (space_.stop.requested()) {
      plan_.stages = before;
      return false;
    }
    ++num_examined_;
    const double seconds = iteration_seconds(space_.instance, plan_);
    if (seconds < seconds_ * (1.0 - tie_tolerance) && why_not_fit(space_.instance, plan_).empty() &&
        !is_refused(space_, plan_)) {
      seconds_ = seconds;
      return true;
    }
    plan_.stages = before;
    return false;
  }

  /// Takes a step in which devices changed places, if it is one forward and the profile knows every
  /// stage's degree on the devices that it has now; else takes it back.
  bool keep_exchange(const std::vector<Stage>& before) {
    if (has_degrees()) return keep(before);
    plan_.stages = before;
    return false;
  }

  bool shift_layers() {
    bool any = false;
    for (int i = 0; i + 1 < plan_.num_stages(); ++i) {
      for (const int step : {-1, 1}) {
        const Interval first = plan_.stages[i].layers.front();
        const Interval second = plan_.stages[i + 1].layers.front();
        if ((step < 0 ? first : second).size() < 2) continue;
        const std::vector<Stage> before = plan_.stages;
        plan_.stages[i].layers = {{first.begin, first.end + step}};
        plan_.stages[i + 1].layers = {{second.begin + step, second.end}};
        any |= keep(before);
      }
    }
    return any;
  }

  /// A sample from one replica to another of a different kind of place; those in between move
  /// along.
  bool move_samples() {
    bool any = false;
    for (int i = 0; i < plan_.num_stages(); ++i) {
      const int replicas = plan_.stages[i].replicas;
      for (int from = 0; from < replicas; ++from) {
        for (int to = 0; to < replicas; ++to) {
          if (from == to || plan_.stages[i].samples[from].size() < 2 ||
              are_alike(plan_.stages[i], from, to))
            continue;
          const std::vector<Stage> before = plan_.stages;
          give_sample(plan_.stages[i].samples, from, to);
          any |= keep(before);
        }
      }
    }
    return any;
  }

  static void give_sample(std::vector<Interval>& samples, int from, int to) {
    std::int64_t begin = 0;
    for (int j = 0; j < static_cast<int>(samples.size()); ++j) {
      const std::int64_t size = samples[j].size() + (j == to ? 1 : 0) - (j == from ? 1 : 0);
      samples[j] = {begin, begin + size};
      begin += size;
    }
  }

  bool are_alike(const Stage& stage, int a, int b) const {
    const Cluster& cluster = space_.instance.cluster;
    for (int k = 0; k < stage.tensor_parallel; ++k) {
      if (cluster.kind_index_of(stage.devices[a][k]) != cluster.kind_index_of(stage.devices[b][k]))
        return false;
    }
    return stage.samples[a].size() == stage.samples[b].size();
  }

  /// Places (stage, replica, shard) of all devices.
  std::vector<DeviceId*> all_places() {
    std::vector<DeviceId*> places;
    for (Stage& stage : plan_.stages) {
      for (auto& row : stage.devices) {
        for (DeviceId& device : row) places.push_back(&device);
      }
    }
    return places;
  }

  /// Whether the profile knows every stage's degree on the kinds of devices that it has now.
  bool has_degrees() const {
    const Cluster& cluster = space_.instance.cluster;
    return std::all_of(plan_.stages.begin(), plan_.stages.end(), [&](const Stage& stage) {
      return std::all_of(
          stage.devices.begin(), stage.devices.end(), [&](const std::vector<DeviceId>& row) {
            return std::all_of(row.begin(), row.end(), [&](DeviceId device) {
              return degrees_.has(cluster.kind_index_of(device), stage.tensor_parallel);
            });
          });
    });
  }

  bool exchange_devices() {
    bool any = false;
    const int num_places = plan_.num_devices();
    for (int a = 0; a < num_places; ++a) {
      if (space_.stop.requested()) break;
      for (int b = a + 1; b < num_places; ++b) {
        const std::vector<DeviceId*> places = all_places();
        if (space_.instance.cluster.node_of(*places[a]) ==
            space_.instance.cluster.node_of(*places[b]))
          continue;
        const std::vector<Stage> before = plan_.stages;
        std::swap(*places[a], *places[b]);
        any |= keep_exchange(before);
      }
    }
    return any;
  }

  bool exchange_stages() {
    bool any = false;
    for (int a = 0; a < plan_.num_stages(); ++a) {
      for (int b = a + 1; b < plan_.num_stages(); ++b) {
        Stage& first = plan_.stages[a];
        Stage& second = plan_.stages[b];
        if (first.replicas != second.replicas || first.tensor_parallel != second.tensor_parallel)
          continue;
        const std::vector<Stage> before = plan_.stages;
        std::swap(first.devices, second.devices);
        std::swap(first.samples, second.samples);
        any |= keep_exchange(before);
      }
    }
    return any;
  }

  const SearchSpace& space_;
  const Degrees degrees_;
  Plan plan_;
  double seconds_;
  std::int64_t num_examined_ = 0;
};

bool has_single_runs(const Plan& plan) {
  return std::all_of(plan.stages.begin(), plan.stages.end(), [](const Stage& stage) {
    return stage.layers.size() == 1 && stage.blocks.empty() && stage.shards.empty();
  });
}

}  // namespace

Outcome polish(const SearchSpace& space, const Plan& plan) {
  if (has_single_runs(plan)) return Polisher(space, plan).run();
  Outcome unchanged;
  unchanged.plan = plan;
  return unchanged;
}

}  // namespace pptrain
