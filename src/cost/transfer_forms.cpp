#include "cost/transfer_forms.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <utility>

#include "cost/collective.hpp"
#include "cost/stage_time.hpp"

namespace pptrain {
namespace {

/// On an uplink, one way.
struct UplinkLoad {
  double bytes = 0.0;
  double bandwidth = 0.0;
};

/// Whether all devices are on one node whose devices share cores.
bool on_shared_cores(const Cluster& cluster, const std::vector<EqualCopies>& senders,
                     const std::vector<EqualCopies>& receivers) {
  const int node = cluster.node_of(senders.front().devices.front());
  const auto here = [&](const EqualCopies& copy) {
    return std::all_of(copy.devices.begin(), copy.devices.end(),
                       [&](DeviceId device) { return cluster.node_of(device) == node; });
  };
  return cluster.group_of_node(node).shares_cores() &&
         std::all_of(senders.begin(), senders.end(), here) &&
         std::all_of(receivers.begin(), receivers.end(), here);
}

/// What slices save of the time; negative where they take longer. Where a copy is work of shared
/// cores, no byte is copied less often: nothing.
double saved_seconds(const Cluster& cluster, const std::vector<EqualCopies>& senders,
                     const std::vector<EqualCopies>& receivers, double bytes) {
  if (on_shared_cores(cluster, senders, receivers)) return 0.0;
  const auto seconds = [&](TransferForm form) {
    return passage_seconds(cluster, passage(senders, receivers, form), bytes);
  };
  return seconds(TransferForm::whole) - seconds(TransferForm::slices) -
         received_gather_seconds(cluster, receivers, bytes);
}

TransferForm form_of(double saved) {
  return saved > 0.0 ? TransferForm::slices : TransferForm::whole;
}

CutForms cut_forms(const Instance& instance, const Stage& before, const Stage& after,
                   double bytes) {
  if (before.tensor_parallel == 1 && after.tensor_parallel == 1) return {};
  if (!before.blocks.empty() || !after.blocks.empty())
    return {};  // who needs the same differs from pass to pass
  const std::vector<EqualCopies> first = sample_copies(before);
  const std::vector<EqualCopies> second = sample_copies(after);
  return {form_of(saved_seconds(instance.cluster, first, second, bytes)),
          form_of(saved_seconds(instance.cluster, second, first, bytes))};
}

/// All directions at once, so the slowest one counts.
TransferForm tied_form(const Instance& instance, const Plan& plan, const Tie& tie) {
  if (tie.axis.empty()) return TransferForm::whole;  // who needs the same is no group
  std::vector<const Stage*> stages;
  for (const Stage& stage : plan.stages) {
    if (tie.num_layers_in(stage.layers) > 0) stages.push_back(&stage);
  }
  if (stages.size() < 2) return TransferForm::whole;
  const auto has_blocks = [](const Stage* stage) { return !stage->blocks.empty(); };
  const auto is_alone = [](const Stage* stage) { return stage->replicas == 1; };
  if (std::any_of(stages.begin(), stages.end(), has_blocks)) return TransferForm::whole;
  if (std::all_of(stages.begin(), stages.end(), is_alone)) return TransferForm::whole;
  double saved = std::numeric_limits<double>::infinity();
  for (const Stage* from : stages) {
    for (const Stage* to : stages) {
      if (from == to) continue;
      saved = std::min(saved, saved_seconds(instance.cluster, tie_copies(*from, tie),
                                            tie_copies(*to, tie), tie.row_bytes));
    }
  }
  return form_of(saved);
}

}  // namespace

double passage_seconds(const Cluster& cluster, const Passage& passage, double bytes) {
  std::map<std::pair<int, Uplink::Direction>, UplinkLoad> shared;
  double longest = 0.0;
  double latency = 0.0;
  for (const Message& message : passage.messages) {
    const double size = static_cast<double>(message.interval.size()) / passage.units * bytes;
    const Link link = cluster.path(message.from, message.to);
    longest = std::max(longest, size / link.bandwidth);
    latency = std::max(latency, link.latency);
    for (const Uplink& uplink : cluster.uplinks(message.from, message.to)) {
      UplinkLoad& load = shared[{uplink.owner, uplink.direction}];
      load.bytes += size;
      load.bandwidth = uplink.link.bandwidth;
    }
  }
  for (const auto& [uplink, load] : shared)
    longest = std::max(longest, load.bytes / load.bandwidth);
  return longest + latency;
}

double received_gather_seconds(const Cluster& cluster, const std::vector<EqualCopies>& receivers,
                               double bytes) {
  double longest = 0.0;
  for (const EqualCopies& copy : receivers) {
    const auto n = static_cast<int>(copy.devices.size());
    if (n == 1) continue;
    const double whole = static_cast<double>(copy.interval.size()) * bytes;
    longest = std::max(longest, all_gather_seconds(cluster.slowest_link(copy.devices), n, whole));
  }
  return longest;
}

TransferForms cheapest_forms(const Instance& instance, const Plan& plan) {
  TransferForms forms;
  const std::vector<Chunk> chunks = chunks_in_order(plan);
  const auto stage_of = [&](std::size_t chunk) -> const Stage& {
    return plan.stages[static_cast<std::size_t>(chunks[chunk].stage)];
  };
  for (std::size_t c = 0; c + 1 < chunks.size(); ++c) {
    forms.cuts.emplace_back();
    if (chunks[c].stage == chunks[c + 1].stage) continue;
    const double bytes =
        instance.profile.layers[static_cast<std::size_t>(chunks[c].layers.end - 1)].output_bytes;
    forms.cuts.back() = cut_forms(instance, stage_of(c), stage_of(c + 1), bytes);
  }
  for (const Tie& tie : instance.ties) forms.ties.push_back(tied_form(instance, plan, tie));
  return forms;
}

}  // namespace pptrain
