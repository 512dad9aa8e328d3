#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace pptrain {

/// The schedule of whoever leaves it open: planners try all of them. Orders under this name are
/// searched task by task.
inline constexpr const char* open_schedule = "auto";
inline bool is_open(const std::string& schedule) { return schedule == open_schedule; }

/// How chunks lie on the ranks of a pipeline, or on the stages of a plan.
enum class ChunkPlacement {
  loop,    ///< chunk c on rank c mod p; with one chunk per rank the plain pipeline
  v_shape  ///< chunks r and 2p-1-r on rank r
};
int rank_of_chunk(ChunkPlacement placement, int num_ranks, int chunk);

/// What the orders of a schedule depend on beside the numbers of ranks, chunks and micro-batches.
enum class OrderInputs {
  none,
  memory,           ///< the activations that a rank may store
  memory_and_times  ///< also seconds of tasks and cuts
};

/// How the orders of a schedule are found, which says how long that takes.
enum class OrderSearch {
  none,              ///< there is one order
  compared,          ///< the best of a few by replay
  improved,          ///< step by step
  improved_if_short  ///< step by step where a pipeline has too few micro-batches to have no bubble
};

/// A stage of a pipeline, as far as what it stores depends on it.
struct StagePlace {
  std::int64_t num_stages = 1;
  std::int64_t left = 1;    ///< stages from this one to the last one, both counted
  std::int64_t chunks = 1;  ///< per stage
  std::int64_t micro_batches = 1;
  std::int64_t unit = 0;  ///< of schedules with units; 0: chosen
};

/// What planners, memory and simulator have to know of a schedule. Its orders are made in
/// src/schedule (docs/schedules.md).
struct ScheduleKind {
  std::string name;
  int chunks = 1;         ///< per stage; 0: any number
  int fewest_chunks = 1;  ///< that are worth trying where any number runs
  ChunkPlacement placement = ChunkPlacement::loop;
  bool splits_backward = false;  ///< whether B and W are tasks of their own, so that the profile
                                 ///< has to tell them apart
  bool has_units = false;        ///< whether micro-batches run in units
  OrderInputs inputs = OrderInputs::none;
  OrderSearch search = OrderSearch::none;
  /// Micro-batches whose activations the stage stores at most, not less than 1 and possibly more
  /// than there are.
  std::int64_t (*stored)(const StagePlace& place) = nullptr;
  /// Whether searches which place stages from the last one to the first plan for it, where `stored`
  /// must depend on `left` and `micro_batches` alone.
  bool planned_stage_by_stage = false;
  int turn = 0;              ///< in which searches try schedules: the most promising first
  std::string roomier = {};  ///< another one that is no slower where its larger memory is there;
                             ///< empty: none
};

/// All schedules of a plan, "auto" last: the best order that is found within the memory. In a
/// configuration "auto" leaves the choice of any of them to the planner.
const std::vector<ScheduleKind>& schedule_kinds();
/// The names of all schedules in this order.
const std::vector<std::string>& schedule_names();
/// The schedule of this name. Throws `Error` (exit code 2) where there is none.
const ScheduleKind& schedule_kind(const std::string& name);

/// Micro-batches that the stage stores at most: `stored`, or all that there are.
std::int64_t most_stored(const ScheduleKind& kind, const StagePlace& place);

}  // namespace pptrain
