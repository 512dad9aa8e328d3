#pragma once

#include <cstddef>
#include <limits>
#include <vector>

#include "base/infinity.hpp"
#include "schedule/arrivals.hpp"
#include "schedule/cut_ports.hpp"
#include "schedule/list_schedule.hpp"
#include "schedule/rank_events.hpp"

namespace pptrain {

/// What a list schedule has come to while it is made. A copy of it is a place from which another
/// run of the same pipeline and policy can go on.
struct ListState {
  struct Chunk {
    int rank = 0;
    TaskSeconds seconds;
    StoredBytes bytes;
    int lead = std::numeric_limits<int>::max();
    Arrivals forwards;
    Arrivals backwards;
    int weight = 0;  ///< the next micro-batch of W
  };
  /// Events of what arrives for F and for B of chunk c are from 2 c and 2 c + 1.
  static constexpr int end_of_task = -1;
  /// The way of what a task makes to another chunk.
  struct Delivery {
    int source = end_of_task;  ///< of the event when it arrives; else nothing is sent
    int micro_batch = 0;
    int way = 0;  ///< number of the cut's way
  };
  struct RankProgress {
    int warm_up = 0;
    int stored = 0;
    double bytes = 0.0;    ///< all that is stored
    double waiting = 0.0;  ///< the part of it that W gives back
    int forwards = 0;
    int backwards = 0;
    int oldest = 0;  ///< micro-batch that has an F left
    double busy_until = 0.0;
    double reduced = 0.0;     ///< the gradients of chunks that are through
    double left = 0.0;        ///< seconds of the tasks that have not started
    std::size_t started = 0;  ///< tasks
    std::size_t decisions = 0;
    Delivery delivery;  ///< of the task that runs
  };
  struct Rank : RankProgress {
    std::vector<int> chunks;
    int limit = 0;
    double seconds = 0.0;  ///< of one micro-batch
    double room = infinity;
    double backward = 0.0;  ///< bytes that B of any chunk needs
    double weight = 0.0;    ///< bytes that W of any chunk needs
    TaskOrder order;        ///< of all tasks; those that have not started are of another run
  };

  std::vector<Chunk> chunks;
  std::vector<Rank> ranks;
  CutPorts ports;
  RankEvents events;
  ListChoices num_options;  ///< by rank and decision
  std::size_t started = 0;  ///< tasks of all ranks
};

}  // namespace pptrain
