#include "planners/published/whale/whale.hpp"

#include <algorithm>
#include <functional>

#include "planners/ask/whole_experts.hpp"
#include "planners/published/published.hpp"
#include "planners/published/whale/annotations.hpp"
#include "planners/published/whale/hybrid_search.hpp"
#include "planners/published/whale/pipeline_search.hpp"

namespace pptrain {
namespace {

/// The searches of one call of the planner.
class WhaleSearch {
 public:
  explicit WhaleSearch(const SearchSpace& space)
      : space_(space),
        sums_(space.instance),
        times_(sums_),
        pipelines_(space, times_),
        hybrids_(space, times_) {}

  Outcome run() {
    if (space_.restrictions.annotations.empty()) {
      search_all();
    } else {
      search_annotated(annotated_model(space_.instance, space_.restrictions, ""));
    }
    return outcome();
  }

 private:
  void search_all() {
    for (const TaskGraphs& graphs : equal_task_graphs(space_)) pipelines_.add(graphs);
    pipelines_.run();
    if (space_.restrictions.blocks) hybrids_.search_runs(pipelines_.best().seconds());
    why_not_ = [this] { return pipelines_.why_not(); };
  }

  void search_annotated(const AnnotatedModel& model) {
    const bool alike = std::all_of(
        model.parts.begin(), model.parts.end(),
        [&](const AnnotatedPart& part) { return part.primitive == model.parts[0].primitive; });
    if (model.placement == PartPlacement::shared && !alike) {
      hybrids_.search_annotated(model);
      why_not_ = [this] { return hybrids_.why_not(); };
      return;
    }
    pipelines_.add(model.task_graphs());
    pipelines_.run();
    why_not_ = [this] { return pipelines_.why_not(); };
  }

  Outcome outcome() {
    Outcome outcome;
    outcome.complete = pipelines_.complete() && hybrids_.complete();
    outcome.num_examined = pipelines_.num_examined() + hybrids_.num_examined();
    const BestPlan& stages = pipelines_.best();
    const BestPlan& blocks = hybrids_.best();
    const std::optional<Plan>& plan =
        (blocks.seconds() < stages.seconds() * (1.0 - tie_tolerance) ? blocks : stages).plan();
    if (plan) {
      Plan found = *plan;
      if (space_.restrictions.experts == Experts::sent)
        send_rows_of_blocks(found, space_.instance.profile);
      outcome.plan = finished_plan(space_, found, "whale");
    } else {
      outcome.why_not = why_not_();
    }
    return outcome;
  }

  const SearchSpace& space_;
  LayerSums sums_;
  SampleTimes times_;
  PipelineSearch pipelines_;
  HybridSearch hybrids_;
  std::function<std::string()> why_not_;
};

}  // namespace

Outcome WhalePlanner::search(const SearchSpace& space) const { return WhaleSearch(space).run(); }

std::unique_ptr<Planner> make_whale_planner() { return std::make_unique<WhalePlanner>(); }

}  // namespace pptrain
