#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "plan/plan.hpp"
#include "plan/validate.hpp"

namespace pptrain {
namespace {

/// The stage of each chunk, in layer order.
std::vector<int> stages_of_chunks(const Plan& plan) {
  std::vector<std::pair<std::int64_t, int>> begins;
  for (int s = 0; s < plan.num_stages(); ++s) {
    for (const Interval& chunk : plan.stages[s].layers) begins.emplace_back(chunk.begin, s);
  }
  std::sort(begins.begin(), begins.end());
  std::vector<int> stages;
  for (const auto& [begin, stage] : begins) stages.push_back(stage);
  return stages;
}

}  // namespace

int stage_of_chunk(const std::string& schedule, int num_stages, int chunk) {
  return rank_of_chunk(schedule_kind(schedule).placement, num_stages, chunk);
}

void check_chunk_layout(const Plan& plan, const std::string& source) {
  const std::string& schedule = plan.schedule.name;
  const ScheduleKind& kind = schedule_kind(schedule);
  const int expected = kind.chunks;
  const int chunks = plan.schedule.virtual_stages;
  if (expected != 0 && chunks != expected) {
    throw_bad_input({source + ": schedule.virtual_stages", fmt::format("is {}", chunks),
                     fmt::format("\"{}\" runs {} per stage", schedule,
                                 expected == 1 ? "one chunk" : "two chunks"),
                     fmt::format("use {}, or another schedule", expected)});
  }
  const std::vector<int> stages = stages_of_chunks(plan);
  const int num_stages = plan.num_stages();
  for (int c = 0; c < static_cast<int>(stages.size()); ++c) {
    const int stage = rank_of_chunk(kind.placement, num_stages, c);
    if (stages[c] == stage) continue;
    throw_bad_input(
        {fmt::format("{}: stages[{}].layers", source, stages[c]),
         fmt::format("chunk {} lies on stage {}", c, stages[c]),
         fmt::format("\"{}\" of {} stages has it on stage {}", schedule, num_stages, stage),
         kind.placement == ChunkPlacement::v_shape
             ? "let the chunks run through all stages and back"
             : "let the chunks run through all stages again and again"});
  }
}

}  // namespace pptrain
