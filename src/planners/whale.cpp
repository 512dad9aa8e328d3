#include "planners/whale.hpp"

#include "planners/pipeline_search.hpp"

namespace pptrain {

Outcome WhalePlanner::search(const SearchSpace& space) const {
  PipelineSearch pipelines(space);
  for (const TaskGraphs& graphs : equal_task_graphs(space)) pipelines.add(graphs);
  pipelines.run();
  Outcome outcome;
  outcome.complete = pipelines.complete();
  outcome.num_examined = pipelines.num_examined();
  if (pipelines.plan()) {
    outcome.plan = finished_plan(space, *pipelines.plan(), name());
  } else {
    outcome.why_not = pipelines.why_not();
  }
  return outcome;
}

}  // namespace pptrain
