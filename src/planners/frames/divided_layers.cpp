#include <algorithm>
#include <numeric>

#include "planners/divide/layer_balance.hpp"
#include "planners/frames/scheduled_cost.hpp"

namespace pptrain {
namespace {

/// Chunks whose work is in proportion to the speed of their stages, as near as whole layers allow.
std::vector<Interval> even_work(const ScheduledCost& cost) {
  const FrameCosts& costs = cost.costs();
  const PassSums& times = *costs.kind(0).times[0];
  std::vector<double> before;
  for (std::size_t l = 0; l < times.forward.size(); ++l)
    before.push_back(times.forward[l] + times.backward[l]);
  std::vector<double> speeds;
  for (int c = 0; c < cost.num_chunks(); ++c) {
    const PassSums& own = *costs.kind(cost.stage_of(c)).times[0];
    speeds.push_back(1.0 / (own.forward.back() + own.backward.back()));
  }
  const double all = std::accumulate(speeds.begin(), speeds.end(), 0.0);
  std::vector<double> shares;
  for (const double speed : speeds) shares.push_back(before.back() * speed / all);
  return division_by_shares(before, shares);
}

/// Looks for the division of least cost from a given one on.
class LayerShift {
 public:
  LayerShift(ScheduledCost& cost, std::vector<Interval> start)
      : cost_(cost), best_(std::move(start)), least_(cost.of_stages(best_)) {}

  std::vector<Interval> take() { return std::move(best_); }

  /// Whether a layer less on the slowest stage helps; then it is moved.
  bool relieve_slowest() {
    constexpr int most_cuts = 8;  // of stages that have several chunks
    const int slowest = least_.slowest;
    const int chunks = cost_.num_chunks();
    const int widest = cost_.has_single_chunks() ? chunks - 1 : std::min(chunks - 1, most_cuts);
    for (int c = 0; c < chunks; ++c) {
      if (cost_.stage_of(c) != slowest) continue;
      for (int cuts = 1; cuts <= widest; ++cuts) {
        if (move(c, c + cuts - 1, -1) || move(c - cuts, c - 1, 1)) return true;
      }
    }
    return false;
  }

  /// Whether any cuts are moved because that helps: single ones, of few chunks also some that
  /// follow one another. Where memory lacks, only a layer less on the fullest stage can help; where
  /// stages have single chunks, cuts behind the slowest one cannot.
  bool move_cuts() {
    constexpr int few_chunks = 12;
    if (least_.overrun > 0.0) return false;
    const int chunks = cost_.num_chunks();
    const int widest = chunks <= few_chunks ? few_chunks : 1;
    bool any = false;
    for (int cuts = 1; cuts <= widest; ++cuts) {
      const int last = cost_.has_single_chunks() ? std::min(least_.slowest, chunks - 1 - cuts)
                                                 : chunks - 1 - cuts;
      for (int c = 0; c <= last; ++c) any |= move(c, c + cuts - 1, -1) || move(c, c + cuts - 1, 1);
    }
    return any;
  }

 private:
  /// Moves the cuts behind the chunks `from` to `to` by `step` layers if that helps and every chunk
  /// still has one.
  bool move(int from, int to, int step) {
    if (from < 0 || to + 1 >= cost_.num_chunks()) return false;
    if (best_[static_cast<std::size_t>(step < 0 ? from : to + 1)].size() < 2) return false;
    shift(from, to, step);
    if (least_.overrun > 0.0 || !overloads(step < 0 ? to + 1 : from)) {
      const ScheduledCost::Cost next = cost_.of_stages(best_);
      if (next.below(least_)) {
        least_ = next;
        return true;
      }
      cost_.undo();
    }
    shift(from, to, -step);
    return false;
  }

  /// Whether the stage of a chunk that has a layer more now takes too long, whatever the others
  /// take.
  bool overloads(int chunk) const {
    return cost_.least_seconds(cost_.stage_of(chunk), best_) >= least_.seconds + least_.waits;
  }

  void shift(int from, int to, int step) {
    for (int c = from; c <= to; ++c) {
      best_[static_cast<std::size_t>(c)].end += step;
      best_[static_cast<std::size_t>(c) + 1].begin += step;
    }
  }

  ScheduledCost& cost_;
  std::vector<Interval> best_;
  ScheduledCost::Cost least_;
};

}  // namespace

std::vector<Interval> divided_layers(ScheduledCost& cost, std::vector<Interval> start) {
  LayerShift division(cost, start.empty() ? even_work(cost) : std::move(start));
  while (division.relieve_slowest() || division.move_cuts()) {
  }
  return division.take();
}

}  // namespace pptrain
