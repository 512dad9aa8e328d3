#include "runtime/replan/change_plan.hpp"

#include <algorithm>

#include "base/error.hpp"
#include "base/log.hpp"
#include "base/units.hpp"
#include "comm/collective.hpp"
#include "comm/mpi.hpp"
#include "runtime/replan/redistribute.hpp"

namespace pptrain {
namespace {

void tell(const PlanJob& job, Waiter& waiter, const Plan& plan, const Redistributed& moved) {
  const std::vector<double> of_ranks =
      gather(job.world,
             std::vector<double>{static_cast<double>(moved.bytes_received),
                                 static_cast<double>(moved.bytes_kept)},
             waiter);
  if (of_ranks.empty()) return;
  double received = 0.0;
  double kept = 0.0;
  for (std::size_t r = 0; r < of_ranks.size(); r += 2) {
    received += of_ranks[r];
    kept += of_ranks[r + 1];
  }
  log_info("Going on with {}, {}: {} of training state moved and {} were in place, in {}",
           plan.shape(), plan.schedule.name, format_bytes(received), format_bytes(kept),
           format_seconds(moved.seconds));
}

}  // namespace

std::unique_ptr<RunningPlan> change_plan(const PlanJob& job, Waiter& waiter, Alarm& alarm,
                                         const Plan& plan, RunningPlan& present) {
  std::unique_ptr<RunningPlan> next;
  try {
    collectively(job.world, waiter,
                 [&] { next = std::make_unique<RunningPlan>(job, plan, alarm); });
  } catch (const Error& error) {
    if (rank_in(job.world) == 0) log_warning("the plan stays: {}", error.what());
    return nullptr;
  }
  tell(job, waiter, plan,
       redistribute(job.world, waiter, job.model, nodes_of_ranks(job.machine), present.session(),
                    next->session()));
  next->session().loss_scale().restore(present.session().loss_scale().state());
  return next;
}

}  // namespace pptrain
