#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <numeric>

#include "base/error.hpp"
#include "cost/bubble.hpp"
#include "cost/stage_time.hpp"
#include "program/model_ties.hpp"

namespace pptrain {
namespace {

double with_update_and_cores(const Instance& instance, const Plan& plan, double amp) {
  return std::max(amp + longest_update_seconds(instance, plan), core_limit_seconds(instance, plan));
}

}  // namespace

std::vector<Tie> ties_of(const Config& config, const Profile& profile) {
  if (!config.can_train_model()) return {};
  const Model model = build_model(config.model, config.training, config.source);
  // A profile of other layers than the model's does not tell which of them share weights.
  if (model.num_layers() != profile.num_layers()) return {};
  return ties_of(model, profile.bytes_per_parameter.gradient);
}

void check_instance(const Instance& instance, const std::string& source) {
  for (const NodeGroup& group : instance.cluster.groups) {
    for (const ProfileLayer& layer : instance.profile.layers) {
      const bool known =
          std::any_of(layer.rows.begin(), layer.rows.end(), [&group](const ProfileRow& row) {
            return row.device == group.device_kind && row.tensor_parallel == 1;
          });
      if (known) continue;
      throw_bad_input(
          {source,
           fmt::format(
               "the profile has no time of layer \"{}\" on device kind \"{}\" at tensor_parallel 1",
               layer.name, group.device_kind),
           fmt::format("cluster \"{}\" has such devices", instance.cluster.name),
           "profile on that kind of device, or use --analytic"});
    }
  }
}

double core_limit_seconds(const Instance& instance, const Plan& plan) {
  const auto shared = [](const NodeGroup& group) { return group.shares_cores(); };
  const std::vector<NodeGroup>& groups = instance.cluster.groups;
  if (std::none_of(groups.begin(), groups.end(), shared)) return 0.0;
  const std::vector<double> work = node_work_seconds(instance, plan);
  double limit = 0.0;
  std::map<std::string, double> pools;
  for (int node = 0; node < instance.cluster.num_nodes(); ++node) {
    const NodeGroup& group = instance.cluster.group_of_node(node);
    if (!shared(group)) continue;
    double sum = work[node];
    if (!group.core_pool.empty()) sum = pools[group.core_pool] += work[node];
    limit = std::max(limit, sum / group.cores);
  }
  return limit;
}

double iteration_seconds(const Instance& instance, const Plan& plan) {
  return with_update_and_cores(instance, plan, amp_terms(instance, plan).iteration_seconds);
}

Prediction predict(const Instance& instance, const Plan& plan) {
  return predict(instance, plan, lower_bound_seconds(instance));
}

Prediction predict(const Instance& instance, const Plan& plan, double lower_bound_seconds) {
  Prediction prediction;
  const AmpTerms terms = amp_terms(instance, plan);
  prediction.estimates = {{"amp", terms.iteration_seconds},
                          {"dapple", dapple_seconds(instance, plan)}};
  prediction.estimate_seconds = terms.iteration_seconds;
  prediction.iteration_seconds = with_update_and_cores(instance, plan, terms.iteration_seconds);
  prediction.parts = time_parts(terms, plan);
  prediction.stage_seconds = terms.stage_seconds;
  prediction.lower_bound_seconds = lower_bound_seconds;
  prediction.error_band = instance.profile.error_band;
  prediction.like = instance.profile.like;
  prediction.peak_bytes = memory_bytes(instance, plan);
  const std::vector<double> work = device_work_seconds(instance, plan);
  prediction.bubble_fraction = bubble_fraction(std::accumulate(work.begin(), work.end(), 0.0),
                                               plan.num_devices(), prediction.iteration_seconds);
  return prediction;
}

}  // namespace pptrain
