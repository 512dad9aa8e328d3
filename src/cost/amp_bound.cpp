#include "cost/amp_bound.hpp"

#include <algorithm>
#include <cmath>
#include <deque>
#include <functional>
#include <limits>
#include <queue>
#include <utility>

#include "cost/layer_ways.hpp"
#include "cost/micro_batch_bounds.hpp"

namespace pptrain {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

/// Cuts that a line of stages cannot avoid.
struct LeastCuts {
  double seconds = 0.0;       ///< of any cut
  double node_seconds = 0.0;  ///< of a cut between nodes: in addition

  LeastCuts(const BoundInputs& inputs, double samples) {
    Link fastest;
    Link uplink;
    for (const UsedKind& kind : inputs.kinds) {
      if (kind.inside.bandwidth > 0.0) improve(fastest, kind.inside);
      if (kind.between.bandwidth > 0.0) improve(uplink, kind.between);
    }
    if (uplink.bandwidth > 0.0) improve(fastest, uplink);
    if (inputs.num_layers < 2 || fastest.bandwidth <= 0.0) return;
    // Two stages' replicas are devices and have samples, and r + s intervals overlap r + s - 1 times.
    const double overlaps = std::min(inputs.num_devices, 2.0 * samples) - 1.0;
    const double bytes = inputs.least_output_bytes * std::ceil(samples / std::max(1.0, overlaps) - 1e-9);
    const auto seconds_over = [bytes](const Link& link) { return 2.0 * (bytes / link.bandwidth + link.latency); };
    seconds = seconds_over(fastest);
    if (uplink.bandwidth > 0.0) node_seconds = seconds_over(uplink) - seconds;
  }
};

/// The multipliers for one range of tau; the bound is concave in each.
struct Multipliers {
  double nu = 0.0;         ///< of the capacity
  double line = 1.0;       ///< what is left of sum t_i
  double cuts = 1.0;       ///< 0: not charged
  double node_cuts = 1.0;  ///< 0: not charged
  double memory = 0.0;     ///< of all devices' memory
};

/// Plans with one number of micro-batches.
class MicroBatchProblem {
 public:
  MicroBatchProblem(const BoundInputs& inputs, double global_batch, double micro_batches)
      : inputs_(inputs),
        samples_(global_batch / micro_batches),
        repeats_(micro_batches - 1.0),
        bounds_(micro_batch_bounds(inputs, samples_, CollectiveLaw::flat_ring)),
        cuts_(inputs, samples_) {
    for (std::size_t k = 0; k < inputs.kinds.size(); ++k) {
      node_price_ = std::max(node_price_, inputs.kinds[k].largest_node * bounds_.work.of_kind[k]);
    }
  }

  /// tau is at least this.
  double least_stage_seconds() const { return bounds_.stage_seconds(); }
  double micro_batches() const { return repeats_ + 1.0; }
  /// Bound on T where `low <= tau <= high`.
  double seconds(double low, double high);

 private:
  Charge bound(const Multipliers& at, double low, double high) const;

  const BoundInputs& inputs_;
  double samples_;  // of a micro-batch
  double repeats_;  // m - 1
  MicroBatchBounds bounds_;
  LeastCuts cuts_;
  double node_price_ = 0.0;        // of the dearest node
  std::vector<LayerWays> layers_;  // made when first needed
};

Charge MicroBatchProblem::bound(const Multipliers& at, double low, double high) const {
  Charges charges;
  charges.line = at.line + at.cuts * cuts_.seconds / high;
  charges.capacity = at.nu + 1.0 - at.line;
  charges.node_capacity = at.node_cuts * cuts_.node_seconds / (high * node_price_);
  charges.memory = at.memory;
  charges.longest = high;
  Charge sum = least_charge(layers_, samples_, charges);
  sum.seconds += (repeats_ - at.nu) * (at.nu <= repeats_ ? low : high) - at.cuts * cuts_.seconds -
                 at.node_cuts * cuts_.node_seconds - at.memory;
  return sum;
}

/// Looks for the multipliers with the largest bound.
class Ascent {
 public:
  Ascent(std::function<Charge(const Multipliers&)> bound, const Multipliers& start)
      : bound_(std::move(bound)), best_(start), charge_(bound_(start)) {}

  double seconds() const { return charge_.seconds; }
  const Charge& charge() const { return charge_; }

  /// More for the devices' time while more of it is used than there is, or less.
  void climb_capacity(double step) {
    constexpr int most_steps = 12;
    for (int i = 0; i < most_steps && best_.nu + step >= 0.0; ++i) {
      Multipliers next = best_;
      next.nu += step;
      if (!try_out(next).first) return;
      if (i >= 4) step *= 2.0;  // no plan may be possible here: then the bound has no end
    }
  }

  /// More for memory while plans take more than there is.
  void climb_memory(double step) {
    constexpr int most_steps = 12;
    for (int i = 0; i < most_steps && charge_.memory > 1.0; ++i) {
      Multipliers next = best_;
      next.memory += step;
      if (!try_out(next).first) return;
      if (i >= 2) step *= 2.0;
    }
  }

  /// Less for the line of stages while these have more devices than there are.
  void halve_line() {
    constexpr int num_halvings = 5;
    double below = 0.0;
    double above = 1.0;
    for (int i = 0; i < num_halvings; ++i) {
      Multipliers next = best_;
      next.line = 0.5 * (below + above);
      const Charge there = try_out(next).second;
      (there.used > there.line ? above : below) = next.line;
    }
  }

  void without_node_cuts() {
    Multipliers next = best_;
    next.node_cuts = 0.0;
    try_out(next);
  }
  void without_cuts() {
    Multipliers next = best_;
    next.cuts = next.node_cuts = 0.0;
    try_out(next);
  }

 private:
  std::pair<bool, Charge> try_out(const Multipliers& next) {
    const Charge there = bound_(next);
    const bool better = there.seconds > charge_.seconds;
    if (better) {
      best_ = next;
      charge_ = there;
    }
    return {better, there};
  }

  std::function<Charge(const Multipliers&)> bound_;
  Multipliers best_;
  Charge charge_;
};

double MicroBatchProblem::seconds(double low, double high) {
  if (layers_.empty()) layers_ = layer_ways(inputs_, samples_, bounds_.work.of_kind);
  Multipliers start;
  start.nu = repeats_;
  Ascent ascent([&](const Multipliers& at) { return bound(at, low, high); }, start);
  const auto climb = [&] {
    ascent.climb_capacity(0.25 * micro_batches() * (ascent.charge().used > high ? 1.0 : -1.0));
  };
  climb();
  if (ascent.charge().used > ascent.charge().line) {
    ascent.halve_line();
    climb();
  }
  if (cuts_.node_seconds > 0.0) ascent.without_node_cuts();
  if (cuts_.seconds > 0.0) ascent.without_cuts();
  if (ascent.charge().memory > 1.0) {
    ascent.climb_memory(0.05 * micro_batches() * low);
    climb();
  }
  return ascent.seconds();
}

/// A range of tau for one number of micro-batches, and the bound there.
struct Range {
  MicroBatchProblem* problem = nullptr;
  double low = 0.0;
  double high = infinity;
  double bound = 0.0;
  bool operator<(const Range& other) const { return bound > other.bound; }  // least bound on top of a queue
};

}  // namespace

double amp_bound_seconds(const BoundInputs& inputs, std::int64_t global_batch_size) {
  constexpr int most_ranges = 400;
  constexpr double fine = 1.01;    // ranges of tau are halved down to this ratio
  constexpr double coarse = 1.25;  // and cut off from the rest at this one
  std::deque<MicroBatchProblem> problems;
  std::priority_queue<Range> queue;
  for (const std::int64_t m : micro_batch_counts(global_batch_size)) {
    const auto micro_batches = static_cast<double>(m);
    MicroBatchProblem& problem = problems.emplace_back(inputs, static_cast<double>(global_batch_size), micro_batches);
    const double least = problem.least_stage_seconds();
    queue.push({&problem, least, infinity, micro_batches * least});
  }
  for (int i = 0; i < most_ranges; ++i) {
    const Range top = queue.top();
    if (!(top.low > 0.0) || top.high < fine * top.low) break;
    queue.pop();
    const bool open = top.high == infinity;
    const double middle = open ? coarse * top.low : std::sqrt(top.low * top.high);
    const double below = top.problem->seconds(top.low, middle);
    const double above = open ? top.problem->micro_batches() * middle : top.problem->seconds(middle, top.high);
    queue.push({top.problem, top.low, middle, std::max(top.bound, below)});
    queue.push({top.problem, middle, top.high, std::max(top.bound, above)});
  }
  return queue.top().bound;
}

}  // namespace pptrain
