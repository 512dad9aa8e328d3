// Neighbours of a plan whose replicas divide experts, and send rows to those that have them.
#include <algorithm>
#include <numeric>
#include <optional>

#include "plan/parts.hpp"
#include "plan/patterns.hpp"
#include "planners/ask/whole_experts.hpp"
#include "planners/frames/neighbours.hpp"
#include "planners/meshes/grid.hpp"

namespace pptrain {
namespace {

/// The stage with a replica for each of its devices: samples of a replica are divided over its
/// members. Nothing where one would have none.
std::optional<Stage> as_replicas(const Stage& stage) {
  if (stage.tensor_parallel == 1) return stage;
  Stage result = stage;
  result.replicas = stage.replicas * stage.tensor_parallel;
  result.tensor_parallel = 1;
  result.shards.clear();
  result.devices.clear();
  result.samples.clear();
  for (std::size_t j = 0; j < stage.devices.size(); ++j) {
    if (stage.samples[j].size() < stage.tensor_parallel) return std::nullopt;
    for (const DeviceId device : stage.devices[j]) result.devices.push_back({device});
    for (const Interval& part : even_division(stage.samples[j].size(), stage.tensor_parallel)) {
      result.samples.push_back(
          {stage.samples[j].begin + part.begin, stage.samples[j].begin + part.end});
    }
  }
  return result;
}

/// The stage's samples as they are, and with more of them where links to the other replicas are
/// faster: a part of each replica's samples is shared by that. Nothing more where all links are
/// alike.
std::vector<std::vector<Interval>> samples_by_links(const Cluster& cluster, const Stage& stage) {
  std::vector<std::vector<Interval>> choices = {stage.samples};
  const std::size_t replicas = stage.samples.size();
  std::vector<double> links(replicas, 0.0);
  for (std::size_t i = 0; i < replicas; ++i) {
    for (std::size_t k = 0; k < replicas; ++k) {
      if (k == i) continue;
      const DeviceId a = stage.devices[i].front(), b = stage.devices[k].front();
      links[i] = std::max(links[i], cluster.slowest_link({a, b}).bandwidth);
    }
  }
  const double all = std::accumulate(links.begin(), links.end(), 0.0);
  const auto [least, most] = std::minmax_element(links.begin(), links.end());
  if (replicas < 2 || *least == *most ||
      stage.samples.back().end < static_cast<std::int64_t>(replicas))
    return choices;
  for (const double part : {0.25, 0.5, 0.75, 1.0}) {
    std::vector<double> weights;
    for (std::size_t i = 0; i < replicas; ++i) {
      const double own = static_cast<double>(stage.samples[i].size()) /
                         static_cast<double>(stage.samples.back().end);
      weights.push_back((1.0 - part) * own + part * links[i] / all);
    }
    const std::vector<Interval> samples = parts_by_weights(stage.samples.back().end, weights);
    if (std::find(choices.begin(), choices.end(), samples) == choices.end())
      choices.push_back(samples);
  }
  return choices;
}

/// The stage with its layers with experts divided over groups of `members` replicas; nothing where
/// that cannot be.
std::optional<Stage> with_sent_rows(const SearchSpace& space, const Stage& stage, int members) {
  const Profile& profile = space.instance.profile;
  const std::int64_t experts = profile.axes.at("experts");
  if (stage.replicas % members != 0 || members > experts) return std::nullopt;
  Stage result = stage;
  for (const Interval& layers : stage.layers) {
    for (std::int64_t l = layers.begin; l < layers.end; ++l) {
      if (profile.layers[static_cast<std::size_t>(l)].exchange_bytes == 0.0) continue;
      result.blocks.push_back(sending_block(profile, stage, l, members));
    }
  }
  if (!result.blocks.empty()) {  // blocks have replicas of their own
    result.zero_groups.clear();
    result.zero_slices.clear();
  }
  return result;
}

/// Whether every layer with experts sends rows.
bool sends_all_rows(const Profile& profile, const Plan& plan) {
  for (const Stage& stage : plan.stages) {
    const StageParts parts(stage);
    for (const StagePart& part : parts.all()) {
      if (part.pattern == TensorPattern::all_to_all) continue;
      for (const Interval& layers : part.layers) {
        for (std::int64_t l = layers.begin; l < layers.end; ++l) {
          if (profile.layers[static_cast<std::size_t>(l)].exchange_bytes > 0.0) return false;
        }
      }
    }
  }
  return true;
}

}  // namespace

std::vector<Plan> sent_rows(const SearchSpace& space, const Plan& plan) {
  std::vector<Plan> plans;
  const Restrictions& fixed = space.restrictions;
  const bool asked = fixed.may_send_rows() && fixed.blocks && fixed.annotations.empty();
  if (!asked || !space.instance.profile.axes.contains("experts") || !has_plain_stages(plan))
    return plans;
  int most = 1;
  for (const Stage& stage : plan.stages)
    most = std::max(most, stage.replicas * stage.tensor_parallel);
  for (int members = 2; members <= most; ++members) {
    if (fixed.expert && members != *fixed.expert) continue;
    for (std::size_t choice = 0, choices = 1; choice < choices; ++choice) {
      Plan other = plan;
      bool any = false;
      for (Stage& stage : other.stages) {
        const bool fixed_grid = fixed.tensor || fixed.data;
        if (stage.tensor_parallel > 1 && (fixed_grid || stage.tensor_parallel != members)) continue;
        std::optional<Stage> replicas = as_replicas(stage);
        if (!replicas) continue;
        const std::vector<std::vector<Interval>> samples =
            samples_by_links(space.instance.cluster, *replicas);
        choices = std::max(choices, samples.size());
        replicas->samples = samples[std::min(choice, samples.size() - 1)];
        const std::optional<Stage> divided = with_sent_rows(space, *replicas, members);
        if (!divided || divided->blocks.empty()) continue;
        stage = *divided;
        any = true;
      }
      if (any && (!fixed.expert || sends_all_rows(space.instance.profile, other)))
        plans.push_back(std::move(other));
    }
  }
  return plans;
}

std::vector<Plan> shifted_experts(const SearchSpace& space, const Plan& plan) {
  std::vector<Plan> plans;
  if (!space.restrictions.may_send_rows()) return plans;
  for (std::size_t s = 0; s < plan.stages.size(); ++s) {
    const std::vector<Block>& blocks = plan.stages[s].blocks;
    const auto sends = [](const Block& block) {
      return block.pattern == TensorPattern::all_to_all;
    };
    if (blocks.empty() || !std::all_of(blocks.begin(), blocks.end(), sends)) continue;
    for (int from = 0; from < blocks.front().tensor_parallel; ++from) {
      for (int to = 0; to < blocks.front().tensor_parallel; ++to) {
        if (from == to || blocks.front().shards.at("experts")[from].size() == 1) continue;
        Plan& other = plans.emplace_back(plan);
        for (Block& block : other.stages[s].blocks) {
          std::int64_t begin = 0;
          for (int k = 0; k < block.tensor_parallel; ++k) {
            Interval& part = block.shards.at("experts")[k];
            const std::int64_t size = part.size() + (k == to ? 1 : 0) - (k == from ? 1 : 0);
            part = {begin, begin + size};
            begin += size;
          }
        }
      }
    }
  }
  return plans;
}

}  // namespace pptrain
