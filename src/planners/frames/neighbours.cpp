#include "planners/frames/neighbours.hpp"

#include <algorithm>
#include <cmath>

#include "plan/zero_groups.hpp"
#include "planners/divide/allowed_cuts.hpp"
#include "planners/frames/frame.hpp"
#include "planners/frames/schedule_choices.hpp"
#include "planners/meshes/grid.hpp"
#include "planners/meshes/stage_mesh.hpp"
#include "schedule/schedule.hpp"

namespace pptrain {

/// Sizes as those of `old`, but of another sum; each at least one.
std::vector<Interval> scaled_samples(const std::vector<Interval>& old, std::int64_t micro_batch) {
  const auto replicas = static_cast<int>(old.size());
  const auto [least, most] = std::minmax_element(
      old.begin(), old.end(), [](Interval a, Interval b) { return a.size() < b.size(); });
  if (most->size() - least->size() <= 1) return even_division(micro_batch, replicas);
  const double factor = static_cast<double>(micro_batch) / static_cast<double>(old.back().end);
  std::vector<Interval> samples;
  double wanted = 0.0;
  std::int64_t begin = 0;
  for (int j = 0; j < replicas; ++j) {
    wanted += static_cast<double>(old[j].size()) * factor;
    const std::int64_t last = micro_batch - (replicas - 1 - j);  // leaves one for each of the
                                                                 // others
    const std::int64_t end = j + 1 == replicas
                                 ? micro_batch
                                 : std::clamp<std::int64_t>(std::llround(wanted), begin + 1, last);
    samples.push_back({begin, end});
    begin = end;
  }
  return samples;
}

bool has_plain_stages(const Plan& plan) {
  return std::all_of(plan.stages.begin(), plan.stages.end(), [](const Stage& stage) {
    return stage.blocks.empty() && stage.shards.empty();
  });
}

namespace {

std::optional<Plan> with_micro_batch(const Plan& plan, std::int64_t micro_batch) {
  Plan result = plan;
  result.micro_batch_size = micro_batch;
  result.micro_batches = plan.global_batch_size / micro_batch;
  for (Stage& stage : result.stages) {
    if (stage.replicas > micro_batch) return std::nullopt;
    stage.samples = scaled_samples(stage.samples, micro_batch);
  }
  return result;
}

/// What a stage may do to save memory, but for what it offloads.
struct Mode {
  Recompute recompute;
  int zero_stage;
  ZeroGroup zero_group;
};

std::vector<Mode> modes_under(const SearchSpace& space) {
  const Restrictions& restrictions = space.restrictions;
  std::vector<Recompute> recomputes = {Recompute::none, Recompute::selective, Recompute::full};
  if (restrictions.recompute) recomputes = {*restrictions.recompute};
  std::vector<int> zero_stages = {0, 1, 2, 3};
  if (restrictions.zero_stage) zero_stages = {static_cast<int>(*restrictions.zero_stage)};
  if (restrictions.rule) {
    const TrainerKind& trainer = restrictions.rule->trainer();
    std::erase_if(recomputes, [&](Recompute recompute) { return !trainer.has(recompute); });
    std::erase_if(zero_stages, [&](int stage) { return !trainer.has_zero_stage(stage); });
  }
  std::vector<Mode> modes;
  for (const Recompute recompute : recomputes) {
    for (const int zero_stage : zero_stages) {
      for (const ZeroGroup group : zero_groups(restrictions)) {
        if (zero_stage == 0 && group == ZeroGroup::node) continue;
        modes.push_back({recompute, zero_stage, group});
      }
    }
  }
  return modes;
}

}  // namespace

std::vector<Plan> other_schedules(const SearchSpace& space, const Plan& plan) {
  std::vector<Plan> plans;
  for (const ScheduleChoice& choice :
       schedule_choices(space.restrictions, space.instance.profile, plan)) {
    if (choice == plan.schedule) continue;
    auto other = with_schedule(space.restrictions, space.instance.profile, plan, choice);
    if (other) plans.push_back(std::move(*other));
  }
  return plans;
}

std::vector<Plan> other_micro_batches(const SearchSpace& space, const Plan& plan) {
  std::vector<Plan> plans;
  if (!has_plain_stages(plan)) return plans;
  constexpr std::ptrdiff_t reach = 2;
  const std::vector<std::int64_t> sizes =
      micro_batch_sizes(plan.global_batch_size, space.restrictions);
  const auto own = std::lower_bound(sizes.begin(), sizes.end(), plan.micro_batch_size);
  for (std::ptrdiff_t step = -reach; step <= reach; ++step) {
    const std::ptrdiff_t place = (own - sizes.begin()) + step;
    if (step == 0 || place < 0 || place >= std::ssize(sizes)) continue;
    if (auto other = with_micro_batch(plan, sizes[static_cast<std::size_t>(place)])) {
      plans.push_back(std::move(*other));
    }
  }
  return plans;
}

namespace {

/// Whether ZeRO divides anything on a stage.
bool divides_state(const Stage& stage) { return stage.replicas > 1; }

/// The plan with another mode of all stages, or of a single one, and what it offloads where that is
/// given. Modes that differ in what ZeRO does are one where it divides nothing.
void add_modes(const SearchSpace& space, const Plan& plan, const OffloadChoice* offload,
               std::vector<Plan>& plans) {
  const auto set = [&space, offload](Stage& stage, const Mode& mode) {
    stage.recompute = mode.recompute;
    if (offload != nullptr) {
      stage.offload = offload->states;
      stage.offload_activations = offload->activations;
    }
    if (!divides_state(stage)) return;
    const ZeroGroup group = zero_group_under(space, stage, mode.zero_group);
    divide_state(stage, mode.zero_stage, group, space.instance.cluster);
  };
  const std::vector<Mode> modes = modes_under(space);
  const auto is_another = [&modes](const Mode& mode, bool divides) {
    return divides || (mode.zero_stage == modes.front().zero_stage &&
                       mode.zero_group == modes.front().zero_group);
  };
  const bool any_divides = std::any_of(plan.stages.begin(), plan.stages.end(), divides_state);
  for (const Mode& mode : modes) {
    if (!is_another(mode, any_divides)) continue;
    for (Stage& stage : plans.emplace_back(plan).stages) set(stage, mode);
  }
  for (int i = 0; plan.num_stages() > 1 && i < plan.num_stages(); ++i) {
    const Stage& stage = plan.stages[static_cast<std::size_t>(i)];
    const bool divides = divides_state(stage);
    const ZeroGroup own = zero_group_of(stage);
    for (const Mode& mode : modes) {
      if (!is_another(mode, divides)) continue;
      if (!divides || mode.zero_stage == 0 || mode.zero_group == own)
        set(plans.emplace_back(plan).stages[i], mode);
    }
  }
}

}  // namespace

std::vector<Plan> other_modes(const SearchSpace& space, const Plan& plan) {
  std::vector<Plan> plans;
  add_modes(space, plan, nullptr, plans);
  std::erase_if(plans, [&plan](const Plan& other) { return same_plan(plan, other); });
  return plans;
}

std::vector<Plan> other_offloads(const SearchSpace& space, const Plan& plan) {
  std::vector<Plan> plans;
  const std::vector<OffloadChoice> choices = offload_choices(space);
  if (choices.size() == 1) return plans;
  for (const OffloadChoice& choice : choices) add_modes(space, plan, &choice, plans);
  const auto offloads_alike = [](const Stage& a, const Stage& b) {
    return a.offload == b.offload && a.offload_activations == b.offload_activations;
  };
  std::erase_if(plans, [&](const Plan& other) {  // `other_modes` has those
    return std::equal(plan.stages.begin(), plan.stages.end(), other.stages.begin(), offloads_alike);
  });
  return plans;
}

namespace {

/// Whether layers may move between chunks.
bool may_shift(const SearchSpace& space, const Plan& plan) {
  return has_plain_stages(plan) && space.restrictions.annotations.empty();
}

/// Moves the cuts behind the chunks `from` to `to` by `step` layers, or to the next one where a
/// chunk may begin; whether every chunk still has a layer.
bool shift_cuts(const PlanRule* rule, Plan& plan, const std::vector<ChunkPlace>& chunks,
                std::size_t from, std::size_t to, int step) {
  const auto layers_of = [&](std::size_t c) -> Interval& {
    return plan.stages[chunks[c].stage.index()].layers[static_cast<std::size_t>(chunks[c].local)];
  };
  const std::int64_t num_layers = layers_of(chunks.size() - 1).end;
  for (std::size_t cut = from; cut <= to; ++cut) {
    const std::int64_t place = next_allowed_cut(rule, layers_of(cut).end, step, num_layers);
    layers_of(cut).end = layers_of(cut + 1).begin = place;
  }
  for (std::size_t c = from; c <= to + 1; ++c) {
    if (layers_of(c).size() < 1) return false;
  }
  return true;
}

}  // namespace

std::vector<Plan> shifted_layers(const SearchSpace& space, const Plan& plan, int most_cuts) {
  std::vector<Plan> plans;
  if (!may_shift(space, plan)) return plans;
  const std::vector<ChunkPlace> chunks = chunk_places(plan);
  const PlanRule* rule = space.restrictions.rule.get();
  const std::size_t most = std::min(static_cast<std::size_t>(most_cuts), chunks.size() - 1);
  for (std::size_t cuts = 1; cuts <= most; ++cuts) {
    for (std::size_t c = 0; c + cuts < chunks.size(); ++c) {
      for (const int step : {-1, 1}) {
        Plan other = plan;
        if (shift_cuts(rule, other, chunks, c, c + cuts - 1, step))
          plans.push_back(std::move(other));
      }
    }
  }
  return plans;
}

std::vector<Plan> shifted_pairs(const SearchSpace& space, const Plan& plan) {
  std::vector<Plan> plans;
  if (!may_shift(space, plan)) return plans;
  const std::vector<ChunkPlace> chunks = chunk_places(plan);
  if (chunks.size() > most_paired_chunks) return plans;
  const PlanRule* rule = space.restrictions.rule.get();
  for (std::size_t c = 0; c + 1 < chunks.size(); ++c) {
    for (std::size_t d = c + 1; d + 1 < chunks.size(); ++d) {
      for (const int first : {-1, 1}) {
        for (const int second : {-1, 1}) {
          if (first == second && d == c + 1) continue;  // `shifted_layers` has it
          Plan other = plan;
          if (shift_cuts(rule, other, chunks, c, c, first) &&
              shift_cuts(rule, other, chunks, d, d, second)) {
            plans.push_back(std::move(other));
          }
        }
      }
    }
  }
  return plans;
}

namespace {

/// The plan whose chunks have so many layers: of each stage by round. Nothing where a chunk would
/// have none.
std::optional<Plan> with_sizes(const Plan& plan,
                               const std::vector<std::vector<std::int64_t>>& sizes) {
  Plan other = plan;
  std::int64_t begin = 0;
  for (const ChunkPlace& chunk : chunk_places(plan)) {
    const auto round = static_cast<std::size_t>(chunk.local);
    const std::int64_t size = sizes[chunk.stage.index()][round];
    if (size < 1) return std::nullopt;
    other.stages[chunk.stage.index()].layers[round] = {begin, begin + size};
    begin += size;
  }
  return other;
}

}  // namespace

std::vector<Plan> changed_rounds(const SearchSpace& space, const Plan& plan) {
  std::vector<Plan> plans;
  if (!may_shift(space, plan)) return plans;
  std::vector<std::vector<std::int64_t>> own;
  for (const Stage& stage : plan.stages) {
    std::vector<std::int64_t>& sizes = own.emplace_back();
    for (const Interval& layers : stage.layers) sizes.push_back(layers.size());
  }
  const auto add = [&](const auto& change) {
    std::vector<std::vector<std::int64_t>> sizes = own;
    for (std::vector<std::int64_t>& stage : sizes) change(stage);
    std::optional<Plan> other = with_sizes(plan, sizes);
    if (other && sizes != own) plans.push_back(std::move(*other));
  };
  const std::size_t rounds = own.front().size();
  for (std::size_t v = 0; v < rounds; ++v) {
    for (std::size_t w = 0; w < rounds; ++w) {
      if (v < w) add([v, w](std::vector<std::int64_t>& stage) { std::swap(stage[v], stage[w]); });
      if (v != w) add([v, w](std::vector<std::int64_t>& stage) { --stage[v], ++stage[w]; });
    }
  }
  return plans;
}

}  // namespace pptrain
