#include "planners/divide/suffix_labels.hpp"

#include <algorithm>

#include "base/infinity.hpp"
#include "planners/meshes/frontier.hpp"

namespace pptrain {

SuffixLabels::SuffixLabels(const DivisionProblem& problem, const StageWindows& windows,
                           const LeastSums& before, const StageLabel& least, double limit)
    : problem_(problem), windows_(windows), before_(before), least_(least), limit_(limit) {}

bool SuffixLabels::make(std::size_t most_labels, WatchedStop& stop) {
  const int stages = windows_.num_stages();
  const int layers = windows_.num_layers();
  spans_.assign(static_cast<std::size_t>(stages + 1) * (layers + 1), Span{});
  labels_ = {StageLabel{0.0, least_.slowest, least_.gradient}};
  spans_[index(stages, layers)] = {0, 1};
  for (int i = stages - 1; i >= 0; --i) {
    for (int begin = windows_.first_begin(i); begin <= windows_.last_begin(i); ++begin) {
      extend(i, begin, stop);
      if (labels_.size() > most_labels || stop.requested()) return false;
    }
  }
  return true;
}

double SuffixLabels::best_after(const StageLabel& before, int stage, int begin) const {
  double best = infinity;
  const Span known = spans_[index(stage, begin)];
  for (std::size_t l = known.begin; l < known.end; ++l)
    best = std::min(best, problem_.form().seconds(combined(before, labels_[l])));
  return best;
}

void SuffixLabels::insert(const StageLabel& label) {
  const auto covers = [&form = problem_.form()](const StageLabel& a, const StageLabel& b) {
    return form.covers(a, b);
  };
  if (admit(frontier_, label, covers)) frontier_.push_back(label);
}

void SuffixLabels::extend(int stage, int begin, WatchedStop& stop) {
  const double before = before_.of(stage, begin);
  if (before == infinity) return;
  frontier_.clear();
  for (int end = windows_.first_end(stage, begin); end <= windows_.last_end(stage, begin); ++end) {
    const Span rest = spans_[index(stage + 1, end)];
    if (rest.begin == rest.end) continue;
    if (stop.requested(static_cast<std::int64_t>((rest.end - rest.begin) * (1 + frontier_.size()))))
      return;
    const StageLabel here = problem_.label(stage, begin, end);
    for (std::size_t l = rest.begin; l < rest.end; ++l) {
      const StageLabel label = combined(here, labels_[l]);
      if (before + problem_.form().seconds(label) <= limit_) insert(label);
    }
  }
  spans_[index(stage, begin)] = {labels_.size(), labels_.size() + frontier_.size()};
  labels_.insert(labels_.end(), frontier_.begin(), frontier_.end());
}

}  // namespace pptrain
