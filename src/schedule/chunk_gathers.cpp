#include "schedule/chunk_gathers.hpp"

namespace pptrain {
namespace {

/// Tasks of one chunk that follow one another, tasks without weights between them left out.
struct Run {
  ChunkId chunk;
  std::size_t first = 0;
  std::size_t last = 0;
};

std::vector<Run> runs_of(const TaskOrder& order) {
  std::vector<Run> runs;
  for (std::size_t i = 0; i < order.size(); ++i) {
    if (order[i].kind == TaskKind::backward_weight) continue;
    if (runs.empty() || runs.back().chunk != order[i].chunk) runs.push_back({order[i].chunk, i, i});
    runs.back().last = i;
  }
  return runs;
}

}  // namespace

ChunkGathers chunk_gathers(const TaskOrder& order) {
  ChunkGathers gathers;
  gathers.before.resize(order.size());
  gathers.after.resize(order.size());
  const std::vector<Run> runs = runs_of(order);
  for (std::size_t r = 0; r < runs.size(); ++r) {
    if (r == 0) gathers.before[runs[r].first].push_back(runs[r].chunk);
    if (r + 1 < runs.size()) gathers.before[runs[r].first].push_back(runs[r + 1].chunk);
    gathers.after[runs[r].last].push_back(runs[r].chunk);
  }
  return gathers;
}

}  // namespace pptrain
