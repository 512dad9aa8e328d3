#pragma once

#include <memory>
#include <vector>

#include "schedule/pipeline_shape.hpp"
#include "schedule/schedule.hpp"

namespace pptrain {

/// What a rank does first where several of its tasks could start.
struct ListPolicy {
  /// Forwards that a rank runs before its first backward where it can, per rank and chunk of it, as
  /// a multiple of the ranks from it to the end: 0 runs a backward whenever there is one, 1 warms
  /// up as 1F1B does, 2 as ZB-H2 does.
  int warm_up = 0;
  /// A W starts while nothing else is there if it delays what comes next by at most this part of
  /// its time.
  double patience = 0.0;
  /// Forwards less backwards of a chunk stay at most this multiple of the chunks from it to the
  /// last, which is what 1F1B stores for 1; 0: only memory limits them.
  double lead = 0.0;
  /// The chunk whose tasks go first.
  enum class Chunks { deepest, oldest_micro_batch } chunks = Chunks::deepest;
  /// Sizes of scheduling units (ZeroPP Section 3.1); empty: none. A rank starts a unit when it is
  /// through with the one before, and inside runs F chunk by chunk, and B chunk by chunk from the
  /// last.
  std::vector<int> units = {};
};

/// Choices that differ from the policy's: of rank r at its n-th decision, `choices[r][n]` counts on
/// from the option that the policy prefers. Shorter or empty: as the policy says.
using ListChoices = std::vector<std::vector<unsigned char>>;

/// A decision of which a run makes another choice than the one before.
struct ListChange {
  std::size_t rank = 0;
  std::size_t decision = 0;
};

struct ListResult {
  std::vector<TaskOrder> orders;
  double makespan = 0.0;
  double sum_of_ends = 0.0;  ///< over the ranks: what is less even at equal makespan leaves room
};

/// Runs the pipeline forwards in time: whenever a rank is free it starts what the policy prefers of
/// the tasks whose inputs are there, F only within `most_stored`. Micro-batches of a chunk stay in
/// order. It always ends: of the memory of a rank, what the oldest micro-batch still needs there is
/// left to it, so that this one can finish and give back what it holds.
ListResult list_schedule(const PipelineShape& shape, const ListPolicy& policy,
                         const ListChoices& choices = {});

class ListRun;

/// Makes schedules of one shape, one after another.
class ListScheduler {
 public:
  /// `shape` must outlive it.
  explicit ListScheduler(const PipelineShape& shape);
  ListScheduler(const ListScheduler&) = delete;
  ListScheduler& operator=(const ListScheduler&) = delete;
  ~ListScheduler();

  /// What `list_schedule` gives, until the next call; null where it ends after `most` seconds. A
  /// caller may swap it for another result.
  ListResult* run(const ListPolicy& policy, const ListChoices& choices, double most);
  /// What `run` gives for the policy of the last run that was kept, which must still exist, and
  /// choices that differ from those of that run in `changes`. Goes on from a state of that run
  /// before the first of them.
  ListResult* run_changed(const ListChoices& choices, const std::vector<ListChange>& changes,
                          double most);
  /// Keeps the last run of `run_changed` as the one from which later choices differ. One of `run`
  /// is kept in any case.
  void keep();
  /// Between how many options each rank chose at each of its decisions in the last run. A caller
  /// may swap it for that of another run.
  ListChoices& num_options();

 private:
  std::unique_ptr<ListRun> run_;
};

}  // namespace pptrain
