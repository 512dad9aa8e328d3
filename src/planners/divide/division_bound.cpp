#include "planners/divide/division_bound.hpp"

#include <algorithm>

#include "base/infinity.hpp"

namespace pptrain {
namespace {

/// Rounding: the bounds add up in another order than a division does.
constexpr double rounded_down = 1.0 - 1e-13;

/// Least and largest of every layer's seconds on its fastest kind of stage.
void add_layers(const DivisionProblem& problem, StageLabel& bound) {
  for (int l = 0; l < problem.num_layers(); ++l) {
    double least = infinity;
    for (int k = 0; k < problem.num_kinds(); ++k) {
      least = std::min(least, problem.least_seconds(k)[l + 1] - problem.least_seconds(k)[l]);
    }
    bound.sum += least;
    bound.slowest = std::max(bound.slowest, least);
  }
}

/// Dual of sharing the layers out over the stages: at any prices p_k of a second of a stage of kind
/// k, max t_i * sum_k n_k p_k is no less than each layer at its cheapest. A kind's price is its
/// speed.
double shared_seconds(const DivisionProblem& problem) {
  const int layers = problem.num_layers();
  double stages = 0.0;
  for (int k = 0; k < problem.num_kinds(); ++k) {
    const double total = problem.least_seconds(k)[layers];
    if (!(total > 0.0)) return 0.0;
    stages += problem.num_stages_of(k) / total;
  }
  double work = 0.0;
  for (int l = 0; l < layers; ++l) {
    double least = infinity;
    for (int k = 0; k < problem.num_kinds(); ++k) {
      const std::vector<double>& seconds = problem.least_seconds(k);
      least = std::min(least, (seconds[l + 1] - seconds[l]) / seconds[layers]);
    }
    work += least;
  }
  return work / stages;
}

double least_gradient_seconds(const DivisionProblem& problem) {
  const int layers = problem.num_layers();
  double most = problem.parameters(0, layers) / problem.num_stages();
  for (int l = 0; l < layers; ++l) most = std::max(most, problem.parameters(l, l + 1));
  double least = infinity;
  for (int k = 0; k < problem.num_kinds(); ++k)
    least = std::min(least, problem.gradient_seconds_of(k, most));
  return least;
}

/// The largest value below `most` at which `reaches` was seen to be false, or `least`.
template <class Reaches>
double largest_unreached(double least, double most, const Reaches& reaches) {
  if (reaches(least)) return least;
  while (most - least > 1e-6 * most) {
    const double middle = 0.5 * (least + most);
    (reaches(middle) ? most : least) = middle;
  }
  return least;
}

}  // namespace

StageLabel bound_of(const DivisionProblem& problem) {
  StageLabel bound;
  add_layers(problem, bound);
  bound.slowest = std::max(bound.slowest, shared_seconds(problem));
  for (int k = 0; k < problem.num_kinds(); ++k) {
    bound.sum +=
        problem.num_stages_of(k) * (problem.least_seconds_beside(k) + problem.least_cut_seconds(k));
  }
  bound.gradient = least_gradient_seconds(problem);
  return {bound.sum * rounded_down, bound.slowest * rounded_down, bound.gradient * rounded_down};
}

bool reaches_all_layers(const DivisionProblem& problem, const StageCaps& caps) {
  int begin = 0;
  for (int i = 0; i < problem.num_stages(); ++i) {
    int end = begin;
    while (end < problem.num_layers() && obeys(problem, caps, i, begin, end + 1)) ++end;
    begin = end;
  }
  return begin == problem.num_layers();
}

StageLabel sharpened(const DivisionProblem& problem, StageLabel bound, const StageCaps& most) {
  const int layers = problem.num_layers();
  double longest = 0.0;
  double largest = 0.0;
  for (int i = 0; i < problem.num_stages(); ++i) {
    longest = std::max(longest, problem.stage_seconds(i, 0, layers));
    largest = std::max(largest, problem.gradient_seconds(i, 0, layers));
  }
  bound.slowest =
      largest_unreached(bound.slowest, std::min(longest, most.seconds), [&](double seconds) {
        return reaches_all_layers(problem, {seconds, most.gradient});
      });
  bound.gradient =
      largest_unreached(bound.gradient, std::min(largest, most.gradient), [&](double seconds) {
        return reaches_all_layers(problem, {most.seconds, seconds});
      });
  return bound;
}

}  // namespace pptrain
