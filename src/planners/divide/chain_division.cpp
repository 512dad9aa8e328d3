#include "planners/divide/chain_division.hpp"

#include <algorithm>

#include "base/error.hpp"
#include "base/infinity.hpp"
#include "planners/meshes/cut_cost.hpp"
#include "planners/meshes/frontier.hpp"

namespace pptrain {

ChainProblem::ChainProblem(const Instance& instance, std::vector<ChainStage> stages,
                           double micro_batches)
    : stages_(std::move(stages)), num_layers_(instance.profile.num_layers()), form_(micro_batches) {
  find_cuts(instance);
  find_least();
}

void ChainProblem::find_cuts(const Instance& instance) {
  cuts_.assign(stages_.size(), std::vector<double>(static_cast<std::size_t>(num_layers_) + 1, 0.0));
  least_cut_.assign(stages_.size(), 0.0);
  for (std::size_t i = 0; i + 1 < stages_.size(); ++i) {
    const CutCost cut(instance.cluster, stages_[i].mesh->by_speed(),
                      stages_[i + 1].mesh->by_speed());
    for (int end = 1; end < num_layers_; ++end) {
      cuts_[i][end] = cut.seconds(instance.profile.layers[end - 1].output_bytes);
    }
    if (num_layers_ > 1)
      least_cut_[i] = *std::min_element(cuts_[i].begin() + 1, cuts_[i].end() - 1);
  }
}

/// Sum: each layer on the stage where it takes least. Slowest: with A_i the time of all layers on
/// stage i, sum t_i / A_i is at least the sum over the layers of their least part of an A_i.
void ChainProblem::find_least() {
  std::vector<double> seconds(num_layers_, infinity);
  std::vector<double> parts(num_layers_, infinity);
  double speed = 0.0;
  double cuts = 0.0;
  least_.assign(
      1, std::vector<Least>(static_cast<std::size_t>(num_layers_) + 1, {infinity, infinity}));
  least_[0][0] = {};
  for (std::size_t i = 0; i < stages_.size(); ++i) {
    const double whole = stages_[i].mesh->least_seconds(0, num_layers_);
    speed += whole > 0.0 ? 1.0 / whole : 0.0;
    for (int l = 0; l < num_layers_; ++l) {
      const double mine = stages_[i].mesh->least_seconds(l, l + 1);
      seconds[l] = std::min(seconds[l], mine);
      parts[l] = std::min(parts[l], whole > 0.0 ? mine / whole : 0.0);
    }
    cuts += least_cut_[i];
    least_.push_back({{cuts, 0.0}});
    double part = 0.0;
    double longest = 0.0;
    for (int l = 0; l < num_layers_; ++l) {
      part += parts[l];
      longest = std::max(longest, seconds[l]);
      const double slowest = std::max(longest, speed > 0.0 ? part / speed : 0.0);
      least_.back().push_back({least_.back()[l].sum + seconds[l], slowest});
    }
  }
}

/// sum p_i = P of the stages' parameters; the all-reduce of stage i takes at least a_i p_i.
double ChainProblem::least_gradient_seconds() const {
  double speed = 0.0;
  for (const ChainStage& stage : stages_) {
    const double whole =
        stage.mesh->gradient_seconds(0, num_layers_) - stage.mesh->gradient_seconds(0, 0);
    if (whole <= 0.0) return 0.0;
    speed += 1.0 / whole;
  }
  return 1.0 / speed;
}

double ChainProblem::lower_bound() const {
  constexpr double rounding = 1.0 - 1e-12;
  const Least all = least_.back().back();
  return form_.seconds({all.sum, all.slowest, least_gradient_seconds()}) * rounding;
}

namespace {

/// Some last stages, and how they came to be.
struct Label : StageLabel {
  StageCost cost;  // of the first of them
  int end = 0;     // of its layers
  int next = -1;   // label of the stages behind it
};

class ChainSearch {
 public:
  ChainSearch(const ChainProblem& problem, double limit, const Stop& stop)
      : problem_(problem), limit_(limit), stop_(stop) {
    const int layers = problem.num_layers();
    frontiers_.resize(static_cast<std::size_t>(problem.num_stages()) + 1,
                      std::vector<std::vector<int>>(static_cast<std::size_t>(layers) + 1));
    Label none;
    none.end = layers;
    frontiers_.back()[layers] = {labels_.add(none)};
  }

  std::optional<ChainDivision> run() {
    const int layers = problem_.num_layers();
    const int stages = problem_.num_stages();
    for (int i = stages - 1; i >= 0; --i) {
      const int last = i == 0 ? 0 : layers - (stages - i);
      for (int begin = i; begin <= last; ++begin) {
        if (i > 0 && !may_end(i - 1, begin)) continue;
        extend(i, begin);
        if (stop_.requested()) return std::nullopt;
      }
    }
    if (frontiers_[0][0].empty()) return std::nullopt;
    return best_of(frontiers_[0][0]);
  }

 private:
  bool may_end(int i, int end) const {
    return problem_.stage(i).first_end <= end && end <= problem_.stage(i).last_end;
  }

  /// Whether a stage i with this time can be part of a plan below the limit.
  bool may_win(const StageLabel& label, int i, int begin) const {
    const ChainProblem::Least before = problem_.least_before(i, begin);
    return problem_.form().repeats() * std::max(label.slowest, before.slowest) + label.sum +
               before.sum + label.gradient <
           limit_;
  }

  void extend(int i, int begin) {
    const ChainStage& stage = problem_.stage(i);
    const int later = problem_.num_stages() - 1 - i;
    const auto covers = [&form = problem_.form()](const Label& a, const Label& b) {
      return form.covers(a, b);
    };
    const int first_end = later == 0 ? problem_.num_layers() : std::max(begin + 1, stage.first_end);
    for (int end = first_end; end <= problem_.num_layers() - later; ++end) {
      if (later > 0 && !may_end(i, end)) break;
      if (frontiers_[i + 1][end].empty()) continue;
      const std::optional<StageCost> cost = stage.mesh->cost(begin, end, stage.in_flight);
      if (!cost) break;  // more layers need no less
      const double gradient = stage.mesh->gradient_seconds(begin, end);
      if (!may_win({cost->seconds, cost->seconds, gradient}, i, begin)) break;
      for (const int next : frontiers_[i + 1][end]) {
        const Label after = labels_[next];
        const Label label = {
            {after.sum + cost->seconds + problem_.cut_seconds(i, end),
             std::max(after.slowest, cost->seconds), std::max(after.gradient, gradient)},
            *cost,
            end,
            next};
        if (may_win(label, i, begin)) labels_.insert(frontiers_[i][begin], label, covers);
      }
    }
  }

  ChainDivision best_of(const std::vector<int>& frontier) const {
    const PipelineForm& form = problem_.form();
    int best = frontier.front();
    for (const int label : frontier) {
      if (form.seconds(labels_[label]) < form.seconds(labels_[best])) best = label;
    }
    ChainDivision division = {form.seconds(labels_[best]), {}, {}};
    for (int begin = 0; labels_[best].next >= 0; best = labels_[best].next) {
      division.layers.push_back({begin, labels_[best].end});
      division.costs.push_back(labels_[best].cost);
      begin = labels_[best].end;
    }
    return division;
  }

  const ChainProblem& problem_;
  double limit_;
  const Stop& stop_;
  LabelPool<Label> labels_;
  std::vector<std::vector<std::vector<int>>> frontiers_;  // [stage][first layer]
};

}  // namespace

std::optional<ChainDivision> divide_chain(const ChainProblem& problem, double limit,
                                          const Stop& stop) {
  return ChainSearch(problem, limit, stop).run();
}

std::vector<Interval> roomiest_chain(const ChainProblem& problem) {
  const int stages = problem.num_stages();
  const int layers = problem.num_layers();
  // worst[i][begin]: least largest shortage of the stages from i on for the layers from begin on.
  std::vector<std::vector<double>> worst(
      static_cast<std::size_t>(stages) + 1,
      std::vector<double>(static_cast<std::size_t>(layers) + 1, infinity));
  std::vector<std::vector<int>> ends(stages,
                                     std::vector<int>(static_cast<std::size_t>(layers) + 1, 0));
  worst[stages][layers] = -infinity;
  for (int i = stages - 1; i >= 0; --i) {
    const ChainStage& stage = problem.stage(i);
    for (int begin = i == 0 ? 0 : layers - (stages - i); begin >= i; --begin) {
      for (int end = std::max(begin + 1, stage.first_end); end <= std::min(layers, stage.last_end);
           ++end) {
        if (worst[i + 1][end] == infinity) continue;
        const double mine =
            std::max(stage.mesh->tightest(begin, end, stage.in_flight).shortage, worst[i + 1][end]);
        if (mine >= worst[i][begin]) continue;
        worst[i][begin] = mine;
        ends[i][begin] = end;
      }
    }
  }
  std::vector<Interval> division;
  for (int i = 0, begin = 0; i < stages; ++i) {
    PPTRAIN_ASSERT(ends[i][begin] > begin, "no layers are left for stage {}", i);
    division.push_back({begin, ends[i][begin]});
    begin = ends[i][begin];
  }
  return division;
}

}  // namespace pptrain
