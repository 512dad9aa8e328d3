#include "schedule/orders.hpp"

#include <algorithm>
#include <map>

#include "base/error.hpp"
#include "base/names.hpp"
#include "schedule/zero_bubble.hpp"
#include "schedule/zeropp.hpp"

namespace pptrain {
namespace {

Task task(TaskKind kind, int chunk, int micro_batch) {
  return {kind, ChunkId(chunk), MicroBatchId(micro_batch)};
}

/// `warm_up` forwards, then one forward and one backward in turn, then the remaining backwards.
TaskOrder alternate(const TaskOrder& forwards, const TaskOrder& backwards, int warm_up) {
  TaskOrder order;
  order.reserve(forwards.size() + backwards.size());
  const auto first = forwards.begin() + std::min<std::ptrdiff_t>(warm_up, std::ssize(forwards));
  order.insert(order.end(), forwards.begin(), first);
  auto backward = backwards.begin();
  for (auto forward = first; forward != forwards.end(); ++forward) {
    order.push_back(*forward);
    order.push_back(*backward++);
  }
  order.insert(order.end(), backward, backwards.end());
  return order;
}

/// One task of each micro-batch of a rank's only chunk.
TaskOrder all_of(TaskKind kind, int chunk, int micro_batches) {
  TaskOrder order;
  for (int i = 0; i < micro_batches; ++i) order.push_back(task(kind, chunk, i));
  return order;
}

/// Sizes of the groups of micro-batches: as many of at least p as there can be, the larger ones
/// first.
std::vector<int> group_sizes(int micro_batches, int ranks) {
  const int groups = std::max(1, micro_batches / ranks);
  std::vector<int> sizes(groups, micro_batches / groups);
  for (int g = 0; g < micro_batches % groups; ++g) ++sizes[g];
  return sizes;
}

}  // namespace

std::vector<TaskOrder> gpipe_orders(const PipelineShape& shape) {
  std::vector<TaskOrder> orders;
  for (int r = 0; r < shape.ranks; ++r) {
    orders.push_back(alternate(all_of(TaskKind::forward, r, shape.micro_batches),
                               all_of(TaskKind::backward, r, shape.micro_batches),
                               shape.micro_batches));
  }
  return orders;
}

std::vector<TaskOrder> one_f_one_b_orders(const PipelineShape& shape, WarmUp policy) {
  std::vector<TaskOrder> orders;
  int most = shape.micro_batches;
  for (int r = 0; r < shape.ranks; ++r) {
    const int left = shape.ranks - r;
    // A rank that warms up with more forwards than the rank before it would wait for ever.
    most = std::min(most, policy == WarmUp::policy_a ? left : 2 * left - 1);
    if (!shape.most_stored.empty()) most = std::max(1, std::min(most, shape.most_stored[r]));
    orders.push_back(alternate(all_of(TaskKind::forward, r, shape.micro_batches),
                               all_of(TaskKind::backward, r, shape.micro_batches), most - 1));
  }
  return orders;
}

std::vector<TaskOrder> interleaved_orders(const PipelineShape& shape) {
  const std::vector<int> sizes = group_sizes(shape.micro_batches, shape.ranks);
  const int chunks = shape.chunks_per_rank;
  std::vector<TaskOrder> orders;
  for (int r = 0; r < shape.ranks; ++r) {
    TaskOrder forwards;
    TaskOrder backwards;
    int begin = 0;
    for (const int size : sizes) {
      for (int v = 0; v < chunks; ++v) {
        for (int i = begin; i < begin + size; ++i) {
          forwards.push_back(task(TaskKind::forward, shape.chunk_of(r, v), i));
          backwards.push_back(task(TaskKind::backward, shape.chunk_of(r, chunks - 1 - v), i));
        }
      }
      begin += size;
    }
    orders.push_back(
        alternate(forwards, backwards, (chunks - 1) * sizes.front() + 2 * (shape.ranks - 1 - r)));
  }
  return orders;
}

std::vector<TaskOrder> breadth_first_orders(const PipelineShape& shape) {
  std::vector<TaskOrder> orders(shape.ranks);
  for (int r = 0; r < shape.ranks; ++r) {
    for (int v = 0; v < shape.chunks_per_rank; ++v) {
      for (int i = 0; i < shape.micro_batches; ++i) {
        orders[r].push_back(task(TaskKind::forward, shape.chunk_of(r, v), i));
      }
    }
    for (int v = shape.chunks_per_rank - 1; v >= 0; --v) {
      for (int i = shape.micro_batches - 1; i >= 0; --i) {
        orders[r].push_back(task(TaskKind::backward, shape.chunk_of(r, v), i));
      }
    }
  }
  return orders;
}

namespace {

using MakeOrders = FoundOrders (*)(const PipelineShape& shape);

/// Orders that are written down without a search.
template <std::vector<TaskOrder> (*make)(const PipelineShape&)>
FoundOrders at_once(const PipelineShape& shape) {
  return {make(shape), 0};
}

template <WarmUp policy>
FoundOrders one_f_one_b(const PipelineShape& shape) {
  return {one_f_one_b_orders(shape, policy), 0};
}

/// Who makes the orders of each kind of schedule.
const std::map<std::string, MakeOrders>& makers() {
  static const std::map<std::string, MakeOrders> all = {
      {"gpipe", at_once<gpipe_orders>},
      {"1f1b", one_f_one_b<WarmUp::policy_a>},
      {"dapple-b", one_f_one_b<WarmUp::policy_b>},
      {"interleaved-1f1b", at_once<interleaved_orders>},
      {"breadth-first", at_once<breadth_first_orders>},
      {"zb-h1",
       [](const PipelineShape& shape) { return zero_bubble_orders(shape, ZeroBubble::h1); }},
      {"zb-h2",
       [](const PipelineShape& shape) { return zero_bubble_orders(shape, ZeroBubble::h2); }},
      {"zb-v", [](const PipelineShape& shape) { return zero_bubble_orders(shape, ZeroBubble::v); }},
      {"zeropp", zeropp_orders},
      {"auto", [](const PipelineShape& shape) { return zero_bubble_orders(shape); }},
  };
  return all;
}

}  // namespace

std::vector<TaskOrder> orders_of(const std::string& schedule, const PipelineShape& shape) {
  return find_orders(schedule, shape).orders;
}

FoundOrders find_orders(const std::string& schedule, const PipelineShape& shape) {
  check_shape(shape);
  const auto maker = makers().find(schedule);
  if (maker == makers().end()) {
    throw_bad_input({"schedule", fmt::format("no task orders for \"{}\"", schedule),
                     "there are those of " + join(schedule_names()), "choose one of them"});
  }
  const ScheduleKind& kind = schedule_kind(schedule);
  if (kind.chunks == 1 && shape.chunks_per_rank != 1) {
    throw_bad_input({"schedule", fmt::format("{} chunks per rank", shape.chunks_per_rank),
                     fmt::format("\"{}\" runs one chunk per rank", schedule),
                     "use 1, or another schedule"});
  }
  if (kind.placement == ChunkPlacement::v_shape && shape.placement != ChunkPlacement::v_shape) {
    throw_bad_input({"schedule", fmt::format("\"{}\" on chunks in a loop", schedule),
                     "it runs two chunks per rank in a V",
                     "place chunks r and 2p - 1 - r on rank r"});
  }
  return maker->second(shape);
}

}  // namespace pptrain
