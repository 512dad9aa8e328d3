#pragma once

#include <vector>

#include "cost/cost.hpp"

namespace pptrain {

/// What a device sends or reduces in one iteration, in how many messages, and how often it waits
/// for some.
struct DeviceMessages {
  double bytes = 0.0;
  double messages = 0.0;
  double waits = 0.0;
};

/// What each device of the cluster exchanges in a run (docs/cost.md, "Shared cores"): members of a
/// collective exchange slices with every other one, once in an all-gather and twice in an
/// all-reduce, and wait once for each of these steps. All devices of the cluster sum the loss and
/// the gradient norm.
std::vector<DeviceMessages> device_messages(const Instance& instance, const Plan& plan);

}  // namespace pptrain
