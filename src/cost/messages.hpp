#pragma once

#include <vector>

#include "cost/cost.hpp"

namespace pptrain {

/// What a device sends or reduces in one iteration, in how many messages, and how often it waits for some.
struct DeviceMessages {
  double bytes = 0.0;
  double messages = 0.0;
  double waits = 0.0;
};

/// Of each device of the cluster, as runs do it (docs/cost.md, "Shared cores"): every member of a collective exchanges
/// slices with every other one, once in an all-gather and twice in an all-reduce, and waits once for each of these
/// steps. All devices of the cluster sum the loss and the gradient norm.
std::vector<DeviceMessages> device_messages(const Instance& instance, const Plan& plan);

}  // namespace pptrain
