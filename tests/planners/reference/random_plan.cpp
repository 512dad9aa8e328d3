#include "planners/reference/random_plan.hpp"

#include <algorithm>

#include "planners/reference/divisions.hpp"

namespace pptrain::reference {

namespace {

std::vector<Interval> random_division(Choices& choices, std::int64_t size, int parts) {
  std::vector<std::int64_t> cuts;
  for (std::int64_t c = 1; c < size; ++c) cuts.push_back(c);
  choices.shuffle(cuts);
  cuts.resize(parts - 1);
  std::sort(cuts.begin(), cuts.end());
  cuts.push_back(size);
  std::vector<Interval> intervals;
  std::int64_t begin = 0;
  for (const std::int64_t end : cuts) {
    intervals.push_back({begin, end});
    begin = end;
  }
  return intervals;
}

/// A stage on `devices`, in that order, with a degree that has rows and replicas that use as many as they can.
Stage random_stage(const RandomInstance& instance, Choices& choices, Interval layers, std::vector<DeviceId> devices,
                   std::int64_t micro_batch_size) {
  Stage stage;
  stage.layers = {layers};
  std::vector<int> degrees;
  for (int n = 1; n <= static_cast<int>(devices.size()); ++n) {
    const bool rows = std::all_of(devices.begin(), devices.end(), [&](DeviceId device) {
      return instance.profile.has_degree(instance.cluster.kind_of(device).name, n);
    });
    if (rows) degrees.push_back(n);
  }
  stage.tensor_parallel = choices.of(degrees);
  const auto most = std::min<std::int64_t>(static_cast<int>(devices.size()) / stage.tensor_parallel, micro_batch_size);
  stage.replicas = choices.one_in(4) ? choices.between(1, static_cast<int>(most)) : static_cast<int>(most);
  for (int j = 0; j < stage.replicas; ++j) {
    const auto first = devices.begin() + j * stage.tensor_parallel;
    stage.devices.emplace_back(first, first + stage.tensor_parallel);
  }
  stage.samples = choices.one_in(3) ? random_division(choices, micro_batch_size, stage.replicas)
                                    : even_division(micro_batch_size, stage.replicas);
  return stage;
}

}  // namespace

Plan random_plan(const RandomInstance& instance, Choices& choices) {
  Plan plan;
  plan.planner = "random";
  plan.model = instance.profile.model;
  plan.cluster = instance.cluster.name;
  plan.global_batch_size = instance.global_batch_size;
  plan.micro_batch_size = choices.of(divisors(instance.global_batch_size));
  plan.micro_batches = plan.global_batch_size / plan.micro_batch_size;
  plan.schedule.name = choices.one_in(3) ? "gpipe" : "1f1b";
  std::vector<DeviceId> devices;
  for (int d = 0; d < instance.cluster.num_devices(); ++d) devices.emplace_back(d);
  choices.shuffle(devices);
  const int num_stages = choices.between(1, std::min(instance.cluster.num_devices(), instance.profile.num_layers()));
  const std::vector<Interval> layers = random_division(choices, instance.profile.num_layers(), num_stages);
  const std::vector<Interval> shares = random_division(choices, instance.cluster.num_devices(), num_stages);
  for (int i = 0; i < num_stages; ++i) {
    const auto begin = devices.begin();
    plan.stages.push_back(random_stage(instance, choices, layers[i], {begin + shares[i].begin, begin + shares[i].end},
                                       plan.micro_batch_size));
  }
  return plan;
}

}  // namespace pptrain::reference
