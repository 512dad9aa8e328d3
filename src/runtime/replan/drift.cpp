#include "runtime/replan/drift.hpp"

#include <algorithm>
#include <cmath>

#include "base/error.hpp"
#include "base/log.hpp"
#include "base/timing.hpp"
#include "base/units.hpp"
#include "comm/collective.hpp"
#include "comm/mpi.hpp"
#include "runtime/replan/replan.hpp"

namespace pptrain {
namespace {

/// What disturbs a rank only ever adds to what it takes.
double lower_quartile(std::vector<double> values) {
  const auto quarter = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 4);
  std::nth_element(values.begin(), quarter, values.end());
  return *quarter;
}

}  // namespace

Drift::Drift(MPI_Comm world, Waiter& waiter, const Config& config, const Machine& machine,
             const Profile& profile, Recorder& recorder)
    : world_(world),
      waiter_(waiter),
      config_(config),
      machine_(machine),
      profile_(profile),
      recorder_(recorder),
      watch_(config.planner.drift_factor, machine.core_use) {}

void Drift::restart(const Plan& plan) {
  plan_ = plan;
  warming_up_ = true;
  compute_seconds_.clear();
  iteration_seconds_.clear();
  planned_for_.clear();
  if (rank_in(world_) != 0) return;
  const SlowedDevices slowed = slow_down(machine_.cluster, profile_, slowdowns_);
  const std::vector<double> work = device_work_seconds(
      {slowed.profile, slowed.cluster, config_.training.global_batch_size}, plan);
  std::vector<double> predicted;
  for (int r = 0; r < machine_.map.size(); ++r)
    predicted.push_back(work[machine_.map.device_of(RankId(r)).index()]);
  watch_.restart(std::move(predicted));
}

std::optional<Plan> Drift::after(std::int64_t step, const IterationResult& result) {
  if (std::exchange(warming_up_, false)) return std::nullopt;
  const bool shared = machine_.core_use == CoreUse::shared;
  compute_seconds_.push_back(shared ? result.cpu_seconds : result.compute_seconds());
  iteration_seconds_.push_back(result.seconds);
  if (static_cast<std::int64_t>(compute_seconds_.size()) < config_.planner.drift_window)
    return std::nullopt;
  std::optional<Plan> plan = end_window(step);
  compute_seconds_.clear();
  iteration_seconds_.clear();
  return plan;
}

std::optional<Plan> Drift::end_window(std::int64_t step) {
  const std::vector<double> measured =
      gather(world_, std::vector<double>{lower_quartile(compute_seconds_)}, waiter_);
  std::vector<DriftingRank> drifting;
  if (!measured.empty()) drifting = watch_.end_window(measured);
  tell(step, drifting);
  if (config_.planner.replan == ReplanWhen::never || step + 1 == config_.training.steps)
    return std::nullopt;
  std::string text;
  if (worth_planning(drifting)) text = plan_again(step, drifting);
  text = broadcast(world_, text, waiter_);
  if (text.empty()) return std::nullopt;
  return parse_plan(text, "the new plan");
}

void Drift::tell(std::int64_t step, const std::vector<DriftingRank>& drifting) {
  ++windows_;
  for (const DriftingRank& d : drifting) {
    const DeviceId device = machine_.map.device_of(RankId(d.rank));
    recorder_.record_drift(step, d.rank, d.factor);
    Behind& behind = behind_[d.rank];
    behind.largest_factor = std::max(behind.largest_factor, d.factor);
    if (++behind.windows > 1) continue;
    log_warning(
        "step {}: rank {} (device {}, {}) has fallen behind: it computes {} a step, {:.2f} times "
        "the {} expected",
        step + 1, d.rank, device.value, machine_.cluster.kind_of(device).name,
        format_seconds(d.seconds), d.factor, format_seconds(d.expected_seconds));
  }
}

void Drift::summarise() const {
  for (const auto& [rank, behind] : behind_) {
    if (behind.windows < 2) continue;
    log_warning(
        "rank {} was behind in {} of {} windows of {} steps, up to {:.2f} times what was expected",
        rank, behind.windows, windows_, config_.planner.drift_window, behind.largest_factor);
  }
}

/// Not for what was planned for before, within a tenth.
bool Drift::worth_planning(const std::vector<DriftingRank>& drifting) const {
  return std::any_of(drifting.begin(), drifting.end(), [this](const DriftingRank& d) {
    const auto before = planned_for_.find(d.rank);
    return before == planned_for_.end() || std::abs(d.factor / before->second - 1.0) > 0.1;
  });
}

/// The text of a new plan, or "".
std::string Drift::plan_again(std::int64_t step, const std::vector<DriftingRank>& drifting) {
  std::map<DeviceId, double> slowdowns = slowdowns_;
  planned_for_.clear();
  for (const DriftingRank& d : drifting) {
    planned_for_[d.rank] = d.factor;
    const double before =
        slowdowns.emplace(machine_.map.device_of(RankId(d.rank)), 1.0).first->second;
    slowdowns[machine_.map.device_of(RankId(d.rank))] = before * d.factor;
  }
  const std::int64_t left = config_.training.steps - step - 1;
  const double iteration = median(iteration_seconds_);
  // The other ranks wait: not longer than they may, nor than a good part of what is left takes.
  const double most_seconds =
      std::min(0.5 * config_.job.timeout, 0.1 * iteration * static_cast<double>(left));
  const Replan found = replan(config_, machine_.cluster, profile_,
                              {plan_, slowdowns, iteration, left}, most_seconds);
  log_info("step {}: planned again for the speeds measured; {}", step + 1, found.told);
  if (!found.plan) return "";
  slowdowns_ = slowdowns;
  return write_plan(*found.plan);
}

}  // namespace pptrain
