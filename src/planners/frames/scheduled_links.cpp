// What a schedule takes at least for what crosses cuts and for the sums of gradients.
#include <algorithm>
#include <functional>
#include <utility>

#include "planners/frames/scheduled_cost.hpp"

namespace pptrain {

/// When the sums of each stage begin at the earliest: behind all its F, and B of its last chunk,
/// which is the first that has done all; and when the last micro-batch has come back to that chunk.
std::vector<double> ScheduledCost::sums_begin() const {
  const int stages = static_cast<int>(held_.size());
  std::vector<double> begins(held_.size());
  std::vector<double> heads = {0.0};  // of the first micro-batch's F, by chunk
  for (int c = 0; c + 1 < num_chunks(); ++c) {
    const ChunkPass& pass = passes_[static_cast<std::size_t>(c)];
    heads.push_back(heads.back() + pass.forward + pass.cut);
  }
  double back = 0.0;  // the last micro-batch's B behind the chunk
  for (int c = num_chunks() - 1; c >= num_chunks() - stages; --c) {
    const auto s = static_cast<std::size_t>(stage_of(c));
    const ChunkPass& pass = passes_[static_cast<std::size_t>(c)];
    const Held& last = parts_[static_cast<std::size_t>(c)];
    const double head = heads[static_cast<std::size_t>(c)];
    back = std::max(head + micro_batches_ * (pass.forward + pass.backward),
                    back + pass.cut + pass.backward);
    const double work = held_[s].forward + last.work[terms_[s].again] - last.forward;
    begins[s] = std::max(back, heads[s] + micro_batches_ * work);
  }
  return begins;
}

/// All sums of gradients, over the uplink that takes longest for them: each begins when its stage
/// has gradients, those of ZeRO stages 2 and 3 with every micro-batch.
double ScheduledCost::summing_seconds() const {
  if (costs_.summing_uplinks().empty()) return 0.0;
  const std::vector<double> begins = sums_begin();
  const bool in_nodes = costs_.placed().zero_group() == ZeroGroup::node;
  double longest = 0.0;
  for (const FrameCosts::UplinkLoad& uplink : costs_.summing_uplinks()) {
    std::vector<std::pair<double, double>> sums;  // begin and seconds
    for (std::size_t s = 0; s < terms_.size(); ++s) {
      const int zero_stage = in_nodes ? 0 : terms_[s].zero_stage;
      const bool in_halves = zero_stage >= 1;  // the other half is the gather of weights
      const bool always = zero_stage >= 2;
      const double all = uplink.seconds_per_byte[s] * bytes_.sent() * held_[s].parameters;
      const double times = (in_halves ? 0.5 : 1.0) * (always ? micro_batches_ : 1.0);
      if (all > 0.0) sums.emplace_back(always ? 0.0 : begins[s], times * all);
    }
    std::sort(sums.begin(), sums.end(), std::greater<>());
    double seconds = 0.0;  // of those that begin last
    for (const auto& [begin, each] : sums) longest = std::max(longest, begin + (seconds += each));
  }
  return longest;
}

/// All that crosses cuts, over the uplink that takes longest for it.
double ScheduledCost::uplink_seconds(const std::vector<Interval>& chunks) const {
  const std::vector<ProfileLayer>& layers = costs_.instance().profile.layers;
  double busiest = 0.0;
  for (const FrameCosts::UplinkLoad& uplink : costs_.uplinks()) {
    double seconds = 0.0;
    for (int c = 0; c + 1 < num_chunks(); ++c) {
      const int from = stage_of(c);
      const int to = stage_of(c + 1);
      if (from == to) continue;
      // Chunks that go back to the stage before use the same links.
      const auto stage = static_cast<std::size_t>(to + 1 == from ? to : from);
      const auto end = static_cast<std::size_t>(chunks[static_cast<std::size_t>(c)].end);
      seconds += uplink.seconds_per_byte[stage] * layers[end - 1].output_bytes;
    }
    busiest = std::max(busiest, seconds);
  }
  return busiest;
}

ScheduledCost::ChunkPass ScheduledCost::pass_of(int chunk,
                                                const std::vector<Interval>& chunks) const {
  const int stage = stage_of(chunk);
  const StageKind& kind = costs_.kind(stage);
  const Interval& layers = chunks[static_cast<std::size_t>(chunk)];
  const PassSums& times = *kind.least[mode(computes_again(stage))];
  const PassSeconds pass = times.of(static_cast<int>(layers.begin), static_cast<int>(layers.end));
  const double weight = split_ ? (*kind.weight)[layers.end] - (*kind.weight)[layers.begin] : 0.0;
  const bool crosses = chunk + 1 < num_chunks() && stage_of(chunk + 1) > stage;
  return {pass.forward, pass.backward - weight,
          crosses ? costs_.cut_seconds(stage, layers.end) : 0.0};
}

/// One micro-batch through all chunks and back.
double ScheduledCost::path_seconds() const {
  double seconds = 0.0;
  for (const ChunkPass& pass : passes_) seconds += pass.forward + pass.backward + 2.0 * pass.cut;
  return seconds;
}

}  // namespace pptrain
