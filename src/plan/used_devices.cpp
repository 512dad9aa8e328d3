#include "plan/used_devices.hpp"

namespace pptrain {

std::vector<bool> used_devices(const Plan& plan, int num_devices) {
  std::vector<bool> used(static_cast<std::size_t>(num_devices), false);
  for (const Stage& stage : plan.stages) {
    for (const auto& replica : stage.devices) {
      for (const DeviceId device : replica) used[device.index()] = true;
    }
  }
  return used;
}

}  // namespace pptrain
