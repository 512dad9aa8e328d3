#include "plan_report.hpp"

#include "base/open_file.hpp"
#include "interrupt.hpp"
#include "output.hpp"
#include "planners/other_nodes.hpp"
#include "planning.hpp"
#include "report/page.hpp"
#include "report/plan_report.hpp"
#include "runtime/display/search_display.hpp"

namespace pptrain {
namespace {

std::vector<OnFewerNodes> on_fewer_nodes(const Options& options, const Config& config,
                                         const Plan& plan, const Instance& instance) {
  if (!config.parallelism.plan.empty() || instance.cluster.num_nodes() < 2) return {};
  const std::string& planner = options.planner.empty() ? config.planner.name : options.planner;
  const InterruptEndsSearch interrupt;
  SearchProgress progress;
  const SearchDisplay display(progress);
  return plans_on_fewer_nodes(
      planner == "all" ? "auto" : planner, instance, asked_restrictions(options, config),
      plan.predicted->iteration_seconds, Stop(config.planner.time_limit), &progress);
}

}  // namespace

void deliver_plan_report(const Options& options, const Config& config, const Plan& plan,
                         const Instance& instance) {
  ReportedPlans reported;
  if (!options.input.empty()) {
    reported.config = config;
    reported.configuration =
        read_text(options.input, {options.input, "cannot be read", "", "check the path"});
  }
  reported.plans = {{0, plan}};
  reported.cluster = instance.cluster;
  reported.profile = instance.profile;
  const auto document =
      plan_report_document(reported, on_fewer_nodes(options, config, plan, instance));
  deliver(report_page(document), options.report);
}

}  // namespace pptrain
