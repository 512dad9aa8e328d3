#include "runtime/replan/running_plan.hpp"

#include <fmt/format.h>

#include "comm/mpi.hpp"
#include "runtime/execute/agreement.hpp"

namespace pptrain {

RunningPlan::RunningPlan(const PlanJob& job, const Plan& plan, Alarm& alarm)
    : plan_(plan), waiter_(job.config.job.timeout, job.machine.core_use) {
  waiter_.listen(&alarm);
  SessionOptions options = {.layers = job.layers, .backend = job.device.backend()};
  options.alarm = &alarm;
  options.stop_wish = job.stop_wish;
  options.has_padding = job.has_padding;
  options.direct = job.device.direct();
  if (job.device.probed() != nullptr) {
    const DeviceId own = job.machine.map.device_of(RankId(rank_in(job.world)));
    options.memory_bytes = static_cast<std::size_t>(job.machine.cluster.kind_of(own).memory);
    options.device_name =
        fmt::format("rank {}, {}", rank_in(job.world), job.device.backend().device.name());
  }
  options.orders = agreed_order_options(job.world, waiter_, job.instance, plan_);
  options.forms = agreed_forms(job.world, waiter_, job.instance, plan_);
  for (int d = 0; d < job.machine.cluster.num_devices(); ++d) {
    options.nodes.push_back(job.machine.cluster.node_of(DeviceId(d)));
  }
  if (job.machine.cluster.emulate == Emulate::numbers) {
    emulated_ =
        std::make_unique<EmulatedDevice>(job.world, job.instance, plan_, job.machine.map, waiter_);
    emulated_->apply_to(options);
  }
  options.core_use = job.machine.core_use;
  session_ =
      std::make_unique<Session>(job.world, job.config, job.model, plan_, job.machine.map, options);
}

}  // namespace pptrain
