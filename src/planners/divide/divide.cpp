#include "planners/divide/divide.hpp"

#include <algorithm>
#include <functional>
#include <queue>

#include "base/error.hpp"
#include "base/infinity.hpp"
#include "planners/divide/suffix_labels.hpp"

namespace pptrain {
namespace {

/// Divisions whose largest t_i and largest all-reduce lie within two intervals.
struct Box {
  StageLabel least;  ///< the lower ends, and what the sums are at least
  StageCaps most;    ///< the upper ends
};

/// Branch and bound over boxes: a box is searched by labels where these are few, else it is split
/// in two, whose bounds lie nearer to the truth.
class DivisionSearch {
 public:
  DivisionSearch(const DivisionProblem& problem, double limit, const Stop& stop)
      : problem_(problem),
        stop_(stop),
        limit_(limit * (1.0 + bound_slack)),
        boxes_([this](const Box& a, const Box& b) { return bound(a) > bound(b); }) {}

  std::optional<Division> search() {
    Box root = {bound_of(problem_), {}};
    if (!tighten(root) || !reaches_all_layers(problem_, root.most)) return std::nullopt;
    root.least = sharpened(problem_, root.least, root.most);
    if (!tighten(root)) return std::nullopt;
    try_even_stages(root);
    for (boxes_.push(root); !boxes_.empty() && !stop_.requested();) {
      Box box = boxes_.top();
      boxes_.pop();
      if (tighten(box)) search(box);
    }
    if (stop_.requested() && known_.seconds < infinity) kept_.push_back(known_);
    return first_of_best();
  }

 private:
  double bound(const Box& box) const { return problem_.form().seconds(box.least); }

  /// Takes off what exceeds the limit. False when nothing is left.
  bool tighten(Box& box) const {
    const double repeats = problem_.form().repeats();
    const double seconds = bound(box);
    if (seconds == infinity || seconds > limit_) return false;
    if (repeats > 0.0) {
      box.most.seconds =
          std::min(box.most.seconds, (limit_ - box.least.sum - box.least.gradient) / repeats);
    }
    box.most.gradient =
        std::min(box.most.gradient, limit_ - box.least.sum - repeats * box.least.slowest);
    return true;
  }

  void lower_limit(const std::vector<Interval>& division) {
    const double seconds = problem_.iteration_seconds(division);
    limit_ = std::min(limit_, seconds * (1.0 + bound_slack));
    if (seconds < known_.seconds) known_ = {division, seconds};
  }

  /// The division with the least sums in which no stage is much slower than need be sets a limit.
  void try_even_stages(const Box& root) {
    const double even = root.least.slowest * (1.0 + 1e-5);
    const StageWindows windows(problem_, {std::min(root.most.seconds, even), root.most.gradient});
    const LeastSums sums(problem_, windows, stop_);
    if (sums.total() < infinity) lower_limit(sums.division());
  }

  void search(Box& box) {
    const StageWindows all(problem_, box.most);
    const LeastSums before(problem_, all, stop_);
    if (before.total() == infinity) return;
    lower_limit(before.division());
    box.least.sum = std::max(box.least.sum, before.total() * (1.0 - tie_tolerance));
    if (!tighten(box)) return;
    const StageWindows windows(problem_, box.most);
    SuffixLabels labels(problem_, windows, before, box.least, limit_);
    if (labels.make(most_labels(box), stop_)) {
      keep_first(windows, labels);
    } else {
      split(box);
    }
  }

  /// Seconds of Eq. 4 that lie between the ends of the box.
  double slowest_width(const Box& box) const {
    return problem_.form().repeats() > 0.0
               ? problem_.form().repeats() * (box.most.seconds - box.least.slowest)
               : 0.0;
  }
  static double gradient_width(const Box& box) { return box.most.gradient - box.least.gradient; }

  /// A fraction of all states of the programme, as most are on no good way: with more of them
  /// splitting takes less time (measured). Any number where it would not help.
  std::size_t most_labels(const Box& box) const {
    if (slowest_width(box) + gradient_width(box) <= bound_slack * limit_)
      return std::numeric_limits<std::size_t>::max();
    return 64 + static_cast<std::size_t>(problem_.num_stages()) * problem_.num_layers() / 4;
  }

  void split(const Box& box) {
    Box lower = box;
    Box upper = box;
    if (slowest_width(box) >= gradient_width(box)) {
      lower.most.seconds = upper.least.slowest = 0.5 * (box.least.slowest + box.most.seconds);
    } else {
      lower.most.gradient = upper.least.gradient = 0.5 * (box.least.gradient + box.most.gradient);
    }
    boxes_.push(lower);
    boxes_.push(upper);
  }

  /// The division of the box with the smallest boundaries of those that are as good as its best.
  void keep_first(const StageWindows& windows, const SuffixLabels& labels) {
    const double best = labels.best_after(StageLabel{}, 0, 0);
    if (best > limit_) return;
    Division division = {{}, best};
    StageLabel before;
    int begin = 0;
    for (int i = 0; i < problem_.num_stages(); ++i) {
      int end = windows.first_end(i, begin);
      StageLabel with = combined(before, problem_.label(i, begin, end));
      while (labels.best_after(with, i + 1, end) > best * (1.0 + tie_tolerance)) {
        ++end;
        PPTRAIN_ASSERT(end <= windows.last_end(i, begin),
                       "stage {} of the best division was not found again", i);
        with = combined(before, problem_.label(i, begin, end));
      }
      before = with;
      division.layers.push_back({begin, end});
      begin = end;
    }
    kept_.push_back(std::move(division));
  }

  /// The first of the best divisions of all boxes.
  std::optional<Division> first_of_best() const {
    if (kept_.empty()) return std::nullopt;
    double best = infinity;
    for (const Division& division : kept_) best = std::min(best, division.seconds);
    const Division* first = nullptr;
    for (const Division& division : kept_) {
      if (division.seconds > best * (1.0 + tie_tolerance)) continue;
      if (first == nullptr || division.layers < first->layers) first = &division;
    }
    return Division{first->layers, best};
  }

  const DivisionProblem& problem_;
  WatchedStop stop_;
  Division known_ = {{}, infinity};  // the best that set a limit
  double limit_;                     // what the best division does not exceed, with some slack
  std::priority_queue<Box, std::vector<Box>, std::function<bool(const Box&, const Box&)>> boxes_;
  std::vector<Division> kept_;
};

}  // namespace

std::optional<Division> best_division(const DivisionProblem& problem, double limit,
                                      const Stop& stop) {
  std::optional<Division> division = DivisionSearch(problem, limit, stop).search();
  if (division && division->seconds > limit * (1.0 + tie_tolerance)) return std::nullopt;
  return division;
}

}  // namespace pptrain
