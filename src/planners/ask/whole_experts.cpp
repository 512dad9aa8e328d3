#include "planners/ask/whole_experts.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "plan/patterns.hpp"

namespace pptrain {
namespace {

void give(Mesh& mesh, std::int64_t experts) {
  const int members = mesh.tensor_parallel;
  if (members == 1 || experts % members != 0 || !mesh.shards.empty()) return;
  mesh.shards["experts"] = even_division(experts, members);
}

/// Experts of the members of groups of replicas, in proportion to the samples of these.
std::vector<Interval> experts_by_samples(std::int64_t experts, const std::vector<Interval>& samples,
                                         int members) {
  std::vector<double> own(static_cast<std::size_t>(members), 0.0);
  for (std::size_t r = 0; r < samples.size(); ++r)
    own[r % own.size()] += static_cast<double>(samples[r].size());
  return parts_by_weights(experts, own);
}

}  // namespace

std::vector<Interval> parts_by_weights(std::int64_t total, const std::vector<double>& weights) {
  const double all = std::accumulate(weights.begin(), weights.end(), 0.0);
  const auto number = static_cast<std::int64_t>(weights.size());
  std::vector<Interval> parts;
  double before = 0.0;
  std::int64_t begin = 0;
  for (std::int64_t k = 0; k < number; ++k) {
    before += weights[static_cast<std::size_t>(k)];
    const std::int64_t wanted = std::llround(static_cast<double>(total) * before / all);
    const std::int64_t end = std::clamp<std::int64_t>(wanted, begin + 1, total - (number - 1 - k));
    parts.push_back({begin, end});
    begin = end;
  }
  return parts;
}

Block sending_block(const Profile& profile, const Stage& stage, std::int64_t layer, int members) {
  return {{layer, layer + 1},
          stage.replicas / members,
          members,
          TensorPattern::all_to_all,
          stage.samples,
          {{"experts", experts_by_samples(profile.axes.at("experts"), stage.samples, members)}}};
}

void give_whole_experts(Plan& plan, const Profile& profile) {
  const auto experts = profile.axes.find("experts");
  if (experts == profile.axes.end()) return;
  for (Stage& stage : plan.stages) {
    give(stage, experts->second);
    for (Block& block : stage.blocks) give(block, experts->second);
  }
}

void send_rows_of_blocks(Plan& plan, const Profile& profile) {
  const auto experts = profile.axes.find("experts");
  if (experts == profile.axes.end()) return;
  for (Stage& stage : plan.stages) {
    if (stage.tensor_parallel != 1) continue;
    std::vector<Block> blocks;
    for (const Block& block : stage.blocks) {
      const bool divides = block.tensor_parallel > 1 && block.tensor_parallel <= experts->second;
      std::int64_t next = block.layers.begin;  // behind the last layer that sends
      const auto keep_until = [&](std::int64_t layer) {
        if (next == layer) return;
        blocks.push_back(block);
        blocks.back().layers = {next, layer};
      };
      for (std::int64_t l = block.layers.begin; l < block.layers.end; ++l) {
        if (!divides || profile.layers[static_cast<std::size_t>(l)].exchange_bytes == 0.0) continue;
        keep_until(l);
        blocks.push_back(sending_block(profile, stage, l, block.tensor_parallel));
        next = l + 1;
      }
      keep_until(block.layers.end);
    }
    stage.blocks = std::move(blocks);
  }
}

}  // namespace pptrain
