#include "simulating.hpp"

#include <fmt/format.h>

#include "base/error.hpp"
#include "base/log.hpp"
#include "base/names.hpp"
#include "base/screen.hpp"
#include "base/text_table.hpp"
#include "base/units.hpp"
#include "cluster/read.hpp"
#include "config/trainer_kinds.hpp"
#include "cost/bubble.hpp"
#include "cost/transfer_forms.hpp"
#include "model/model.hpp"
#include "output.hpp"
#include "planners/describe/describe.hpp"
#include "planners/judge/planned_orders.hpp"
#include "planning.hpp"
#include "program/check.hpp"
#include "program/trace.hpp"
#include "schedule/schedule.hpp"
#include "simulate/read_order.hpp"
#include "simulate/report.hpp"

namespace pptrain {
namespace {

/// A plan says whose execution was predicted, where that is not pptrain's.
void warn_of_execution(const Plan& plan, const Profile& profile, const std::string& source) {
  if (!plan.predicted || plan.predicted->like == profile.like) return;
  const auto whose = [](const std::string& like) { return like.empty() ? "pptrain" : like; };
  const std::string planned = whose(plan.predicted->like);
  const bool is_trainer = trainer_kind(planned) != nullptr;
  log_warning("{}: made for the execution of {}, and simulated as {} executes it; add {}{}", source,
              planned, whose(profile.like),
              is_trainer ? "--like " : "--set profile.like=", planned);
}

/// The plan as it is to be simulated.
Plan plan_to_simulate(const Options& options, Plan plan, const Profile& profile,
                      const Cluster& cluster) {
  std::string source = options.plan;
  warn_of_execution(plan, profile, source);
  if (!options.schedule.empty()) {
    plan.schedule.name = options.schedule;
    source = "command line: --schedule";
  }
  validate_plan(plan, profile.num_layers(), cluster.num_devices(), source);
  return plan;
}

Programs programs_of(const Options& options, const Instance& instance, const Plan& plan) {
  if (options.order.empty()) {
    Programs programs = planned_programs(instance, plan);
    check_programs(plan, programs, instance.ties);
    return programs;
  }
  const CompileOptions compile = {instance.ties, cheapest_forms(instance, plan)};
  Programs programs = compile_training(plan, read_orders(options.order, plan), compile);
  if (const std::string violation = find_violation(plan, programs, instance.ties);
      !violation.empty()) {
    throw_bad_input({options.order, "the order cannot be executed", violation,
                     "let every task come after those that it needs on other devices"});
  }
  return programs;
}

void warn_of_memory(const Simulation& simulation, const Cluster& cluster) {
  std::vector<double> need(static_cast<std::size_t>(cluster.num_devices()), 0.0);
  for (const SimulatedDevice& device : simulation.devices)
    need[device.device.index()] = device.peak_bytes;
  if (const std::string why_not = largest_overrun(cluster, need); !why_not.empty())
    log_warning("{}", why_not);
}

/// What is printed of a device behind its number.
std::vector<std::string> device_cells(const SimulatedDevice& device, const Program& program,
                                      const Cluster& cluster) {
  return {cluster.kind_of(device.device).name,    std::to_string(program.stage.value),
          format_seconds(device.busy_seconds),    format_seconds(device.communication_seconds),
          format_seconds(device.idle_seconds),    format_bytes(device.peak_bytes),
          std::to_string(device.peak_stored),     format_seconds(device.first_start_seconds),
          format_seconds(device.last_end_seconds)};
}

/// A row for each device; those of which it says the same share one.
std::string device_table(const Simulation& simulation, const Programs& programs,
                         const Cluster& cluster) {
  std::vector<std::pair<std::vector<int>, std::vector<std::string>>> alike;
  for (std::size_t d = 0; d < programs.size(); ++d) {
    const SimulatedDevice& device = simulation.devices[d];
    std::vector<std::string> cells = device_cells(device, programs[d], cluster);
    const auto same = std::find_if(alike.begin(), alike.end(),
                                   [&](const auto& row) { return row.second == cells; });
    if (same == alike.end()) {
      alike.push_back({{device.device.value}, std::move(cells)});
    } else {
      same->first.push_back(device.device.value);
    }
  }
  Rows rows = {{"device", "kind", "stage", "compute", "communicate", "idle", "memory", "stored",
                "start", "end"}};
  for (const auto& [devices, cells] : alike) {
    rows.push_back({ranges(devices)});
    rows.back().insert(rows.back().end(), cells.begin(), cells.end());
  }
  constexpr std::size_t start = 8;
  constexpr std::size_t end = 9;
  return align(std::move(rows), {start, end});
}

/// Makespan and prediction, which differ where devices share cores: each has one of its own in the
/// simulator.
void add_iteration(Rows& rows, const Simulation& simulation, double core_limit_seconds) {
  const double makespan = simulation.makespan_seconds;
  const double bubble = simulation.bubble_fraction();
  rows.push_back(
      {"makespan", fmt::format("{}, {}", format_seconds(makespan), computing_text(bubble))});
  if (core_limit_seconds <= makespan) return;
  rows.push_back({"with shared cores", fmt::format("{}, {}", format_seconds(core_limit_seconds),
                                                   computing_text(stretched_bubble(
                                                       bubble, makespan, core_limit_seconds)))});
}

std::string simulation_text(const Simulation& simulation, const Instance& instance,
                            const Plan& plan, const Programs& programs,
                            const Comparison& comparison, const std::string& order) {
  Rows rows;
  add_iteration(rows, simulation, core_limit_seconds(instance, plan));
  for (const auto& [name, seconds] : comparison.estimates)
    rows.push_back({name == "amp" ? "AMP's formula" : "DAPPLE's formula", format_seconds(seconds)});
  rows.push_back({"lower bound", format_seconds(comparison.lower_bound_seconds)});
  const std::string head =
      fmt::format("{}, {} with {}, {}", plan.model, plan.shape(), micro_batches_text(plan), order);
  std::string text = wrapped(head, screen_columns(), "  ") + "\n";
  text += align(rows) + "\n" + device_table(simulation, programs, instance.cluster);
  const std::string picture = pipeline_picture(simulation, programs);
  return picture.empty() ? text : text + "\n" + picture;
}

}  // namespace

void run_simulate(const Options& options) {
  Config config = planning_config(options);
  const Plan named = read_plan(options.plan);
  take_context(named, options.plan, config);
  if (!names_files(config) || !names_model(options, config)) {
    throw_bad_input({options.input.empty() ? "command line" : options.input,
                     "nothing to simulate the plan on", "a simulation looks at no machine",
                     "add --cluster and --profile or --model, or name both in CONFIG.toml"});
  }
  const Cluster cluster = planning_cluster(options, config);
  const Profile profile = planning_profile(options, config, cluster);
  const Plan plan = plan_to_simulate(options, named, profile, cluster);
  const Instance instance = {profile, cluster, plan.global_batch_size,
                             planned_ties(options, config, profile)};
  check_instance(instance, config.profile.file.empty() ? config.source : config.profile.file);
  const Programs programs = programs_of(options, instance, plan);
  const Simulation simulation = simulate(instance, plan, programs, {Recording::events});
  if (!options.trace.empty()) deliver(chrome_trace(simulation.trace), options.trace);
  warn_of_memory(simulation, cluster);
  const double bound = lower_bound_seconds(instance);
  const Comparison comparison = {predict(instance, plan, bound).estimates, bound};
  const std::string order =
      options.order.empty() ? plan.schedule.name : "in the order of " + options.order;
  deliver(options.format == "json"
              ? simulation_json(simulation, programs, comparison)
              : simulation_text(simulation, instance, plan, programs, comparison, order),
          "");
}

}  // namespace pptrain
