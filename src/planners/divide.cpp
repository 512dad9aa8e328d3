#include "planners/divide.hpp"

#include <algorithm>
#include <functional>
#include <limits>

#include "base/error.hpp"

namespace pptrain {
namespace {

/// What Eq. 4 needs to know of some stages: sum of t_i and e_i, largest t_i, largest all-reduce.
struct Label {
  double sum = 0.0;
  double slowest = 0.0;
  double gradient = 0.0;
};

Label combined(const Label& a, const Label& b) {
  return {a.sum + b.sum, std::max(a.slowest, b.slowest), std::max(a.gradient, b.gradient)};
}

/// Labels of the last stages for every number of layers that are left to them. AMP's dynamic
/// programme keeps one label per value of max t_i; Pareto labels over (sum, max t_i, max all-reduce)
/// also hold the gradient term of Eq. 4, and need no discretisation.
class SuffixLabels {
 public:
  explicit SuffixLabels(const DivisionProblem& problem) : problem_(problem) {
    const int stages = problem.num_stages();
    const int layers = problem.num_layers();
    labels_.resize(stages + 1, std::vector<std::vector<Label>>(layers + 1));
    labels_[stages][layers] = {Label{}};
    for (int i = stages - 1; i >= 0; --i) {
      const int last = i == 0 ? 0 : layers - (stages - i);
      for (int begin = i; begin <= last; ++begin) extend(i, begin);
    }
  }

  /// The least time of the layers from `begin` on in the stages from `stage` on, after stages with
  /// the label `before`; infinite when nothing fits.
  double best_after(const Label& before, int stage, int begin) const {
    double best = std::numeric_limits<double>::infinity();
    for (const Label& label : labels_[stage][begin]) best = std::min(best, seconds(combined(before, label)));
    return best;
  }

  /// Stage `i` with layers [begin, end) and the cut behind it.
  Label stage_label(int i, int begin, int end) const {
    const double seconds = problem_.stage_seconds(i, begin, end);
    const double cut = i + 1 < problem_.num_stages() ? problem_.cut_seconds(i, end) : 0.0;
    return {seconds + cut, seconds, problem_.gradient_seconds(i, begin, end)};
  }

 private:
  double seconds(const Label& label) const { return problem_.repeats() * label.slowest + label.sum + label.gradient; }

  /// Whether `a` is at least as good as `b` after whatever comes before: its larger maxima cost it no
  /// more than its smaller sum saves.
  bool dominates(const Label& a, const Label& b) const {
    return a.sum + problem_.repeats() * std::max(0.0, a.slowest - b.slowest) + std::max(0.0, a.gradient - b.gradient) <=
           b.sum;
  }

  void insert(std::vector<Label>& frontier, const Label& label) const {
    for (const Label& other : frontier) {
      if (dominates(other, label)) return;
    }
    std::erase_if(frontier, [&](const Label& other) { return dominates(label, other); });
    frontier.push_back(label);
  }

  void extend(int i, int begin) {
    const int later = problem_.num_stages() - 1 - i;
    const int first_end = later == 0 ? problem_.num_layers() : begin + 1;
    for (int end = first_end; end <= problem_.num_layers() - later; ++end) {
      if (!problem_.fits(i, begin, end)) break;  // more layers need no less
      if (labels_[i + 1][end].empty()) continue;
      const Label stage = stage_label(i, begin, end);
      for (const Label& rest : labels_[i + 1][end]) insert(labels_[i][begin], combined(stage, rest));
    }
  }

  const DivisionProblem& problem_;
  std::vector<std::vector<std::vector<Label>>> labels_;  // [stage][first layer]
};

/// Smallest boundaries of a division whose largest `cost(stage, begin, end)` is least. The cost must
/// not fall when a stage grows.
std::vector<Interval> bottleneck_division(int stages, int layers, const std::function<double(int, int, int)>& cost) {
  const double infinity = std::numeric_limits<double>::infinity();
  // worst[i][begin]: least largest cost of the stages from i on for the layers from begin on.
  std::vector<std::vector<double>> worst(stages + 1, std::vector<double>(layers + 1, infinity));
  worst[stages][layers] = 0.0;
  for (int i = stages - 1; i >= 0; --i) {
    for (int begin = i; begin <= layers - (stages - i); ++begin) {
      for (int end = begin + 1; end <= layers - (stages - 1 - i); ++end) {
        worst[i][begin] = std::min(worst[i][begin], std::max(cost(i, begin, end), worst[i + 1][end]));
      }
    }
  }
  std::vector<Interval> division;
  int begin = 0;
  for (int i = 0; i < stages; ++i) {
    int end = begin + 1;
    while (std::max(cost(i, begin, end), worst[i + 1][end]) > worst[0][0]) ++end;
    division.push_back({begin, end});
    begin = end;
  }
  return division;
}

}  // namespace

std::optional<Division> best_division(const DivisionProblem& problem) {
  const SuffixLabels suffixes(problem);
  const double best = suffixes.best_after(Label{}, 0, 0);
  if (best == std::numeric_limits<double>::infinity()) return std::nullopt;
  const double limit = best * (1.0 + tie_tolerance);
  Division division = {{}, best};
  Label before;
  int begin = 0;
  for (int i = 0; i < problem.num_stages(); ++i) {
    int end = begin + 1;
    while (!problem.fits(i, begin, end) ||
           suffixes.best_after(combined(before, suffixes.stage_label(i, begin, end)), i + 1, end) > limit) {
      ++end;
      PPTRAIN_ASSERT(end <= problem.num_layers(), "stage {} of the best division was not found again", i);
    }
    before = combined(before, suffixes.stage_label(i, begin, end));
    division.layers.push_back({begin, end});
    begin = end;
  }
  return division;
}

std::vector<Interval> roomiest_division(const DivisionProblem& problem) {
  return bottleneck_division(problem.num_stages(), problem.num_layers(),
                             [&](int i, int begin, int end) { return problem.memory_use(i, begin, end); });
}

std::vector<Interval> balanced_division(const std::vector<double>& weights, int stages) {
  std::vector<double> sums = {0.0};
  for (const double weight : weights) sums.push_back(sums.back() + weight);
  return bottleneck_division(stages, static_cast<int>(weights.size()),
                             [&](int, int begin, int end) { return sums[end] - sums[begin]; });
}

}  // namespace pptrain
