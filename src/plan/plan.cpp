#include "plan/plan.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.hpp"
#include "base/names.hpp"
#include "plan/validate.hpp"

namespace pptrain {
namespace {

/// Shards of one stage: a row of devices per replica, ids counted on from `first`.
std::vector<std::vector<DeviceId>> device_mesh(int first, int replicas, int tensor) {
  std::vector<std::vector<DeviceId>> mesh(replicas);
  for (std::vector<DeviceId>& row : mesh) {
    for (int k = 0; k < tensor; ++k) row.emplace_back(first++);
  }
  return mesh;
}

}  // namespace

std::vector<Interval> Stage::sharding_groups() const {
  return zero_groups.empty() ? std::vector<Interval>{{0, replicas}} : zero_groups;
}

Interval Stage::sharding_group_of(int replica) const {
  for (const Interval& group : zero_groups) {
    if (group.begin <= replica && replica < group.end) return group;
  }
  return {0, replicas};
}

double Stage::slices_of(int replica) const {
  if (zero_slices.empty()) return static_cast<double>(sharding_group_of(replica).size());
  const std::int64_t own = zero_slices[static_cast<std::size_t>(replica)].size();
  return static_cast<double>(zero_slices.back().end) / static_cast<double>(own);
}

double Stage::largest_slice() const {
  if (zero_slices.empty()) return 1.0;
  std::int64_t largest = 0;
  for (const Interval& slice : zero_slices) largest = std::max(largest, slice.size());
  return static_cast<double>(largest * replicas) / static_cast<double>(zero_slices.back().end);
}

bool Stage::divides_weights() const {
  const std::vector<Interval> groups = sharding_groups();
  return zero_stage >= 3 &&
         std::any_of(groups.begin(), groups.end(), [](Interval group) { return group.size() > 1; });
}

int Plan::num_devices() const {
  int devices = 0;
  for (const Stage& stage : stages) devices += stage.replicas * stage.tensor_parallel;
  return devices;
}

bool Plan::uniform() const {
  return std::all_of(stages.begin(), stages.end(), [this](const Stage& stage) {
    return stage.replicas == stages.front().replicas &&
           stage.tensor_parallel == stages.front().tensor_parallel;
  });
}

std::string Plan::shape() const {
  if (stages.empty()) return "no stages";
  if (uniform()) {
    return fmt::format("PP {} x DP {}{} x TP {}", num_stages(), stages.front().replicas / context,
                       context > 1 ? fmt::format(" x CP {}", context) : "",
                       stages.front().tensor_parallel);
  }
  std::vector<std::string> shapes;  // one for each run of equal stages
  for (int i = 0; i < num_stages();) {
    int end = i;
    const auto same = [&](const Stage& s) {
      return s.replicas == stages[i].replicas && s.tensor_parallel == stages[i].tensor_parallel;
    };
    while (end < num_stages() && same(stages[end])) ++end;
    shapes.push_back(fmt::format("{}x{}", stages[i].replicas / context, stages[i].tensor_parallel));
    if (end - i > 1) shapes.back() += fmt::format(" ({} times)", end - i);
    i = end;
  }
  constexpr std::size_t most_shapes = 7;  // the table of a plan has them all
  if (shapes.size() > most_shapes) {
    shapes.erase(shapes.begin() + most_shapes - 2, shapes.end() - 1);
    shapes.insert(shapes.end() - 1, "...");
  }
  return fmt::format("{} stages of DP x TP {}{}", num_stages(), join(shapes, " | "),
                     context > 1 ? fmt::format(", CP {}", context) : "");
}

std::optional<double> trial_seconds(const Plan& plan) {
  std::optional<double> least;
  for (const Alternative& other : plan.alternatives) {
    if (other.planner != Alternative::tried || !other.measured_seconds) continue;
    least = std::min(least.value_or(*other.measured_seconds), *other.measured_seconds);
  }
  return least;
}

bool same_plan(const Plan& a, const Plan& b) {
  return a.context == b.context && a.global_batch_size == b.global_batch_size &&
         a.micro_batch_size == b.micro_batch_size && a.schedule == b.schedule &&
         a.stages == b.stages;
}

Plan uniform_plan(const std::vector<Interval>& layers, int data, int tensor,
                  std::int64_t global_batch_size, std::int64_t micro_batch_size,
                  const std::string& schedule) {
  return uniform_plan(layers, data, tensor, global_batch_size, micro_batch_size,
                      ScheduleChoice{schedule, 1, 0});
}

Plan uniform_plan(const std::vector<Interval>& chunks, int data, int tensor,
                  std::int64_t global_batch_size, std::int64_t micro_batch_size,
                  const ScheduleChoice& schedule) {
  const int num_chunks = static_cast<int>(chunks.size());
  const int num_stages = num_chunks / schedule.virtual_stages;
  PPTRAIN_ASSERT(num_stages >= 1 && num_stages * schedule.virtual_stages == num_chunks &&
                     data >= 1 && tensor >= 1,
                 "{} chunks, {} per stage, DP {}, TP {}", num_chunks, schedule.virtual_stages, data,
                 tensor);
  PPTRAIN_ASSERT(micro_batch_size >= data && global_batch_size % micro_batch_size == 0,
                 "global batch {}, micro-batch {}, dp {}", global_batch_size, micro_batch_size,
                 data);
  Plan plan;
  plan.global_batch_size = global_batch_size;
  plan.micro_batch_size = micro_batch_size;
  plan.micro_batches = global_batch_size / micro_batch_size;
  plan.schedule = schedule;
  for (int i = 0; i < num_stages; ++i) {
    Stage stage;
    stage.replicas = data;
    stage.tensor_parallel = tensor;
    stage.devices = device_mesh(i * data * tensor, data, tensor);
    stage.samples = even_division(micro_batch_size, data);
    plan.stages.push_back(std::move(stage));
  }
  for (int c = 0; c < num_chunks; ++c) {
    plan.stages[stage_of_chunk(schedule.name, num_stages, c)].layers.push_back(chunks[c]);
  }
  return plan;
}

}  // namespace pptrain
