#include "config/schedule_kinds.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.hpp"
#include "base/names.hpp"

namespace pptrain {
namespace {

std::int64_t stores_all(const StagePlace& place) { return place.micro_batches; }
std::int64_t stores_those_behind(const StagePlace& place) { return place.left; }
std::int64_t stores_twice_those_behind(const StagePlace& place) { return 2 * place.left - 1; }
std::int64_t stores_as_first(const StagePlace& place) { return place.num_stages; }
std::int64_t stores_twice_first(const StagePlace& place) { return 2 * place.num_stages; }
std::int64_t stores_unit(const StagePlace& place) {
  return place.unit > 0 ? place.unit : 2 * place.num_stages - 1;
}

/// Chunks stored, as micro-batches rounded up; the first group of micro-batches is the largest.
std::int64_t stores_interleaved(const StagePlace& place) {
  const std::int64_t groups = std::max<std::int64_t>(1, place.micro_batches / place.num_stages);
  const std::int64_t group = (place.micro_batches + groups - 1) / groups;
  return ((place.chunks - 1) * group + 2 * place.left - 1 + place.chunks - 1) / place.chunks;
}

std::vector<ScheduleKind> make_kinds() {
  constexpr OrderInputs times = OrderInputs::memory_and_times;
  std::vector<ScheduleKind> kinds;
  kinds.push_back(
      {.name = "gpipe", .stored = stores_all, .planned_stage_by_stage = true, .turn = 10});
  kinds.push_back({.name = "1f1b",
                   .inputs = OrderInputs::memory,
                   .stored = stores_those_behind,
                   .planned_stage_by_stage = true,
                   .turn = 2});
  kinds.push_back({.name = "dapple-b",
                   .inputs = OrderInputs::memory,
                   .stored = stores_twice_those_behind,
                   .turn = 9});
  kinds.push_back({.name = "interleaved-1f1b",
                   .chunks = 0,
                   .fewest_chunks = 2,
                   .stored = stores_interleaved,
                   .turn = 1});
  kinds.push_back(
      {.name = "breadth-first", .chunks = 0, .fewest_chunks = 2, .stored = stores_all, .turn = 8});
  kinds.push_back({.name = "zb-h1",
                   .splits_backward = true,
                   .inputs = times,
                   .search = OrderSearch::improved,
                   .stored = stores_as_first,
                   .turn = 6,
                   .roomier = "zb-h2"});
  kinds.push_back({.name = "zb-h2",
                   .splits_backward = true,
                   .inputs = times,
                   .search = OrderSearch::improved_if_short,
                   .stored = stores_twice_first,
                   .turn = 4});
  kinds.push_back({.name = "zb-v",
                   .chunks = 2,
                   .placement = ChunkPlacement::v_shape,
                   .splits_backward = true,
                   .inputs = times,
                   .search = OrderSearch::improved,
                   .stored = stores_as_first,
                   .turn = 4});
  kinds.push_back({.name = "zeropp",
                   .chunks = 0,
                   .splits_backward = true,
                   .has_units = true,
                   .inputs = times,
                   .search = OrderSearch::compared,
                   .stored = stores_unit,
                   .turn = 7});
  kinds.push_back({.name = "auto",
                   .chunks = 0,
                   .splits_backward = true,
                   .inputs = times,
                   .search = OrderSearch::improved_if_short,
                   .stored = stores_all,
                   .turn = 5});
  return kinds;
}

}  // namespace

int rank_of_chunk(ChunkPlacement placement, int num_ranks, int chunk) {
  if (placement == ChunkPlacement::v_shape) return std::min(chunk, 2 * num_ranks - 1 - chunk);
  return chunk % num_ranks;
}

const std::vector<ScheduleKind>& schedule_kinds() {
  static const std::vector<ScheduleKind> kinds = make_kinds();
  return kinds;
}

const std::vector<std::string>& schedule_names() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> all_names;
    for (const ScheduleKind& kind : schedule_kinds()) all_names.push_back(kind.name);
    return all_names;
  }();
  return names;
}

const ScheduleKind& schedule_kind(const std::string& name) {
  for (const ScheduleKind& kind : schedule_kinds()) {
    if (kind.name == name) return kind;
  }
  throw_bad_input({"schedule", fmt::format("unknown schedule \"{}\"", name),
                   "known schedules: " + join(schedule_names()), "name one of these"});
}

std::int64_t most_stored(const ScheduleKind& kind, const StagePlace& place) {
  return std::min(kind.stored(place), place.micro_batches);
}

}  // namespace pptrain
