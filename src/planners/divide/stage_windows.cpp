#include "planners/divide/stage_windows.hpp"

#include <algorithm>

#include "base/error.hpp"

namespace pptrain {

StageWindows::StageWindows(const DivisionProblem& problem, const StageCaps& caps)
    : stages_(problem.num_stages()), layers_(problem.num_layers()) {
  last_ends_.assign(static_cast<std::size_t>(stages_) * layers_, 0);
  for (int i = 0; i < stages_; ++i) {
    const int most = layers_ - (stages_ - 1 - i);
    int end = first_begin(i);
    for (int begin = first_begin(i); begin <= last_begin(i); ++begin) {
      end = std::max(end, begin);
      while (end < most && obeys(problem, caps, i, begin, end + 1)) ++end;
      last_ends_[i * layers_ + begin] = end;
    }
  }
}

LeastSums::LeastSums(const DivisionProblem& problem, const StageWindows& windows, WatchedStop& stop)
    : problem_(problem), windows_(windows) {
  const int layers = windows.num_layers();
  sums_.assign(static_cast<std::size_t>(windows.num_stages() + 1) * (layers + 1),
               std::numeric_limits<double>::infinity());
  sums_[0] = 0.0;
  for (int i = 0; i < windows.num_stages(); ++i) {
    double* after = &sums_[(i + 1) * (layers + 1)];
    for (int begin = windows.first_begin(i); begin <= windows.last_begin(i); ++begin) {
      if (of(i, begin) == std::numeric_limits<double>::infinity()) continue;
      if (stop.requested(windows.last_end(i, begin) - begin)) return;
      for (int end = windows.first_end(i, begin); end <= windows.last_end(i, begin); ++end) {
        after[end] = std::min(after[end], sum_with(i, begin, end));
      }
    }
  }
}

std::vector<Interval> LeastSums::division() const {
  std::vector<Interval> division(static_cast<std::size_t>(windows_.num_stages()));
  int end = windows_.num_layers();
  for (int i = windows_.num_stages() - 1; i >= 0; --i) {
    int begin = windows_.first_begin(i);
    const auto leads_here = [&] {
      return end >= windows_.first_end(i, begin) && end <= windows_.last_end(i, begin) &&
             sum_with(i, begin, end) == of(i + 1, end);
    };
    while (!leads_here()) {
      ++begin;
      PPTRAIN_ASSERT(begin <= windows_.last_begin(i), "no way to the end of stage {} at layer {}",
                     i, end);
    }
    division[i] = {begin, end};
    end = begin;
  }
  return division;
}

}  // namespace pptrain
