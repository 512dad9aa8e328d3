#include "planners/divide.hpp"

#include <algorithm>

#include "base/error.hpp"
#include "planners/stage_windows.hpp"

namespace pptrain {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

/// What Eq. 4 needs to know of some stages: sum of t_i and e_i, largest t_i, largest all-reduce.
struct Label {
  double sum = 0.0;
  double slowest = 0.0;
  double gradient = 0.0;
};

Label combined(const Label& a, const Label& b) {
  return {a.sum + b.sum, std::max(a.slowest, b.slowest), std::max(a.gradient, b.gradient)};
}

/// Stage `i` with layers [begin, end) and the cut behind it.
Label stage_label(const DivisionProblem& problem, int i, int begin, int end) {
  const double seconds = problem.stage_seconds(i, begin, end);
  return {seconds + problem.cut_seconds(i, end), seconds, problem.gradient_seconds(i, begin, end)};
}

/// What is known before the labels are made: bounds on all divisions, and a time that the best one
/// does not exceed, with some slack.
class Frame {
 public:
  Frame(const DivisionProblem& problem, double limit)
      : problem_(problem), bound_(bound_of(problem)), limit_(limit * (1.0 + bound_slack)) {
    if (is_empty()) return;
    if (!reaches_all_layers(problem, caps())) {
      limit_ = -infinity;
      return;
    }
    bound_ = sharpened(problem, bound_, caps());
  }

  /// Whether no division is within the limit.
  bool is_empty() const {
    const double seconds = bound_.seconds(problem_.repeats());
    return seconds == infinity || seconds > limit_;
  }
  const DivisionBound& bound() const { return bound_; }
  double limit() const { return limit_; }

  /// A stage beyond these is part of no division within the limit.
  StageCaps caps() const {
    const double repeats = problem_.repeats();
    StageCaps caps;
    if (repeats > 0.0) caps.seconds = (limit_ - bound_.sum - bound_.gradient) / repeats;
    caps.gradient = limit_ - bound_.sum - repeats * bound_.slowest;
    return caps;
  }

  /// The division with the least sums in which no stage is much slower than need be sets a limit.
  void try_even_stages() {
    StageCaps even = caps();
    even.seconds = std::min(even.seconds, bound_.slowest * (1.0 + 1e-5));
    const StageWindows windows(problem_, even);
    const LeastSums sums(problem_, windows);
    if (sums.total() < infinity) lower_limit(sums.division());
  }

  /// Sums of all divisions within the limit, the least of them with a division that may lower it.
  void use(const LeastSums& sums) {
    bound_.sum = std::max(bound_.sum, sums.total() * (1.0 - tie_tolerance));
    if (sums.total() < infinity) lower_limit(sums.division());
  }

 private:
  void lower_limit(const std::vector<Interval>& division) {
    limit_ = std::min(limit_, problem_.iteration_seconds(division) * (1.0 + bound_slack));
  }

  const DivisionProblem& problem_;
  DivisionBound bound_;
  double limit_;
};

/// Labels of the last stages for every number of layers that are left to them. AMP's dynamic
/// programme keeps one label per value of max t_i; Pareto labels over (sum, max t_i, max all-reduce)
/// also hold the gradient term of Eq. 4, and need no discretisation. As no whole division has smaller
/// maxima than the bounds, a label's maxima count as the bounds where they are below; and a label goes
/// where even the least sum before it would exceed the limit.
class SuffixLabels {
 public:
  SuffixLabels(const DivisionProblem& problem, const StageWindows& windows, const LeastSums& before, const Frame& frame)
      : problem_(problem), windows_(windows), before_(before), limit_(frame.limit()) {
    const int stages = windows.num_stages();
    const int layers = windows.num_layers();
    spans_.resize(static_cast<std::size_t>(stages + 1) * (layers + 1));
    labels_ = {Label{0.0, frame.bound().slowest, frame.bound().gradient}};
    span(stages, layers) = {0, 1};
    for (int i = stages - 1; i >= 0; --i) {
      for (int begin = windows.first_begin(i); begin <= windows.last_begin(i); ++begin) extend(i, begin);
    }
  }

  /// The least time of the layers from `begin` on in the stages from `stage` on, after stages with
  /// the label `before`; infinite when there is none within the limit.
  double best_after(const Label& before, int stage, int begin) const {
    double best = infinity;
    const Span known = spans_[index(stage, begin)];
    for (std::size_t l = known.begin; l < known.end; ++l) best = std::min(best, seconds(combined(before, labels_[l])));
    return best;
  }

 private:
  struct Span {
    std::size_t begin = 0;
    std::size_t end = 0;
  };

  std::size_t index(int stage, int begin) const {
    return static_cast<std::size_t>(stage) * (windows_.num_layers() + 1) + begin;
  }
  Span& span(int stage, int begin) { return spans_[index(stage, begin)]; }
  double seconds(const Label& label) const { return problem_.repeats() * label.slowest + label.sum + label.gradient; }

  /// Whether `a` is at least as good as `b` after whatever comes before: its larger maxima cost it no
  /// more than its smaller sum saves.
  bool dominates(const Label& a, const Label& b) const {
    return a.sum + problem_.repeats() * std::max(0.0, a.slowest - b.slowest) + std::max(0.0, a.gradient - b.gradient) <=
           b.sum;
  }

  void insert(const Label& label) {
    for (const Label& other : frontier_) {
      if (dominates(other, label)) return;
    }
    std::erase_if(frontier_, [&](const Label& other) { return dominates(label, other); });
    frontier_.push_back(label);
  }

  void extend(int i, int begin) {
    const double before = before_.of(i, begin);
    if (before == infinity) return;
    frontier_.clear();
    for (int end = windows_.first_end(i, begin); end <= windows_.last_end(i, begin); ++end) {
      const Span rest = span(i + 1, end);
      if (rest.begin == rest.end) continue;
      const Label stage = stage_label(problem_, i, begin, end);
      for (std::size_t l = rest.begin; l < rest.end; ++l) {
        const Label label = combined(stage, labels_[l]);
        if (before + seconds(label) <= limit_) insert(label);
      }
    }
    span(i, begin) = {labels_.size(), labels_.size() + frontier_.size()};
    labels_.insert(labels_.end(), frontier_.begin(), frontier_.end());
  }

  const DivisionProblem& problem_;
  const StageWindows& windows_;
  const LeastSums& before_;
  double limit_;
  std::vector<Label> labels_;
  std::vector<Span> spans_;      // [stage][first layer], into labels_
  std::vector<Label> frontier_;  // of the state that is being extended
};

/// The smallest boundaries of a division that takes `best` or as good as that.
Division first_division(const DivisionProblem& problem, const StageWindows& windows, const SuffixLabels& suffixes,
                        double best) {
  const double limit = best * (1.0 + tie_tolerance);
  Division division = {{}, best};
  Label before;
  int begin = 0;
  for (int i = 0; i < problem.num_stages(); ++i) {
    int end = windows.first_end(i, begin);
    Label with = combined(before, stage_label(problem, i, begin, end));
    while (suffixes.best_after(with, i + 1, end) > limit) {
      ++end;
      PPTRAIN_ASSERT(end <= windows.last_end(i, begin), "stage {} of the best division was not found again", i);
      with = combined(before, stage_label(problem, i, begin, end));
    }
    before = with;
    division.layers.push_back({begin, end});
    begin = end;
  }
  return division;
}

}  // namespace

std::optional<Division> best_division(const DivisionProblem& problem, double limit) {
  Frame frame(problem, limit);
  if (frame.is_empty()) return std::nullopt;
  frame.try_even_stages();
  const StageWindows all(problem, frame.caps());
  const LeastSums before(problem, all);
  frame.use(before);
  if (frame.is_empty()) return std::nullopt;
  const StageWindows windows(problem, frame.caps());
  const SuffixLabels suffixes(problem, windows, before, frame);
  const double best = suffixes.best_after(Label{}, 0, 0);
  if (best == infinity || best > limit * (1.0 + tie_tolerance)) return std::nullopt;
  return first_division(problem, windows, suffixes, best);
}

}  // namespace pptrain
