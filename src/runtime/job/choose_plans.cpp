#include "runtime/job/choose_plans.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.hpp"
#include "base/interrupt.hpp"
#include "base/log.hpp"
#include "base/units.hpp"
#include "comm/collective.hpp"
#include "comm/mpi.hpp"
#include "model/build/check.hpp"
#include "plan/match.hpp"
#include "planners/describe/describe.hpp"
#include "planners/describe/running_cost.hpp"
#include "planners/describe/throughput.hpp"
#include "planners/given_plan.hpp"
#include "planners/judge/contenders.hpp"
#include "planners/objective.hpp"
#include "planners/other_nodes.hpp"
#include "runtime/display/search_display.hpp"
#include "runtime/execute/executable.hpp"

namespace pptrain {

std::optional<Plan> named_plan(const JobSetup& job) {
  const Config& config = job.config;
  const std::string& path = config.parallelism.plan;
  if (path.empty()) return std::nullopt;
  std::string text;
  collectively(job.world, job.waiter, [&] {
    if (rank_in(job.world) != 0) return;
    const Plan plan = read_plan(path);
    check_plan_context(plan, config.parallelism.context, path);
    check_plan_matches(plan, job.model, job.machine.cluster, config.training.global_batch_size,
                       path);
    check_blocks_executable(plan, job.model, path);
    check_plan_batches(config, job.model, plan.micro_batch_size, path);
    text = write_plan(plan);
  });
  return parse_plan(broadcast(job.world, text, job.waiter), path);
}

namespace {

/// The plan is what a dry run ends with.
void print_plan(const JobOptions& options, const std::string& text) {
  options.dry_run ? print_result(text) : print_step(text);
}

/// Adds speed and cost to what is predicted of a plan.
void predict_figures(const Config& config, const Instance& instance, Plan& plan) {
  const ModelWork work = model_work(config, instance.profile);
  predict_throughput(instance, work, plan);
  predict_cost(instance, cost_question(config, work, {}), plan);
}

Plan printed_plan(const JobOptions& options, const Config& config, const Plan& named,
                  const Instance& instance) {
  check_plan_devices(named, instance.cluster, config.parallelism.plan);
  Plan plan = given_plan(named, config, instance);
  predict_figures(config, instance, plan);
  print_plan(options, describe_plan(plan, instance.cluster) + describe_gradients(instance.profile));
  print_detail(describe_plan_in_full(plan, instance.cluster));
  return plan;
}

/// The best plan, and for trials the next best ones.
std::vector<Plan> searched_plans(const JobOptions& options, const Config& config,
                                 const Instance& instance) {
  SearchResult result =
      shown_search(config.planner.name, config, instance, restrictions_of(config));
  if (result.plan) predict_figures(config, instance, *result.plan);
  if (!result.grids.empty()) print_detail(describe_candidates(result, instance.cluster) + "\n");
  const Plan& plan =
      feasible_plan(result, config.planner.name, config, instance, restrictions_of(config));
  print_plan(options, describe_plan(plan, instance.cluster) + describe_gradients(instance.profile));
  print_detail(describe_plan_in_full(plan, instance.cluster));
  return contenders(result, instance,
                    static_cast<int>(std::max<std::int64_t>(1, config.planner.trials)));
}

}  // namespace

SearchResult shown_search(const std::string& planner, const Config& config,
                          const Instance& instance, const Restrictions& restrictions,
                          std::optional<double> training_tokens) {
  const CostQuestion question =
      cost_question(config, model_work(config, instance.profile), training_tokens);
  SearchProgress progress;
  const SearchDisplay display(progress);
  return search_by_objective(
      {planner, instance, restrictions, config.source, Stop(config.planner.time_limit), &progress},
      objective_of(config), question);
}

const Plan& feasible_plan(const SearchResult& result, const std::string& planner,
                          const Config& config, const Instance& instance,
                          const Restrictions& restrictions) {
  constexpr double longest_seconds = 20.0;
  if (result.plan) return *result.plan;
  std::string remedy = "use more or larger devices, a smaller model or a smaller micro-batch";
  const Stop stop = Stop(config.planner.time_limit).within(longest_seconds);
  if (const auto more = nodes_that_suffice(planner, instance, restrictions, config.source, stop)) {
    remedy = fmt::format(
        "planned again with {} nodes instead of {} it fits, at {} a step: use so many", more->nodes,
        instance.cluster.num_nodes(), format_seconds(more->plan.predicted->iteration_seconds));
  }
  throw_no_feasible_plan({config.source, "no plan fits", result.why_not, remedy});
}

std::vector<Plan> choose_plans(MPI_Comm world, Waiter& waiter, const PlanChoice& choice) {
  const Config& config = choice.config;
  std::vector<Plan> plans;
  tell_if_interrupted(
      "while searching a plan: nothing was saved; [planner] time_limit ends a search with its best "
      "plan");
  collectively(world, waiter, [&] {
    if (rank_in(world) != 0) return;
    const Instance instance = {choice.profile, choice.machine.cluster,
                               config.training.global_batch_size, ties_of(config, choice.profile)};
    if (config.parallelism.plan.empty()) {
      plans = searched_plans(choice.options, config, instance);
    } else {
      const Plan named = choice.named ? *choice.named : read_plan(config.parallelism.plan);
      plans = {printed_plan(choice.options, config, named, instance)};
    }
  });
  tell_if_interrupted("before the first step: nothing was saved");
  const std::string count = broadcast(world, fmt::format("{}", plans.size()), waiter);
  plans.resize(std::stoul(count));
  for (Plan& plan : plans)
    plan = parse_plan(broadcast(world, write_plan(plan), waiter), "the plan");
  return plans;
}

}  // namespace pptrain
