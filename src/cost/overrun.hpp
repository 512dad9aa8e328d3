#pragma once

#include <string>
#include <vector>

#include "cost/cost.hpp"

namespace pptrain {

/// Text for people of a device that needs more bytes than plans may use of it: "device 3 (t4) needs
/// 15 GiB of its 14 GiB beside a reserve of 1 GiB, 1 GiB too much".
std::string overrun_text(const Cluster& cluster, DeviceId device, double need);

/// The device that lacks most bytes of what it needs; invalid where all have room. `need` has a
/// number for each device.
DeviceId most_overrun(const Cluster& cluster, const std::vector<double>& need);

/// Text for people of the device that lacks most bytes, and behind it what the bytes are for:
/// "weights 5 GiB, gradients 5 GiB, optimizer state 10 GiB, activations 8 GiB, for a moment 1.2
/// GiB"; "" where all have room. `need` is what the plan needs of each device. Activations are
/// those of the micro-batches that are under way at a time; the rest, which a device needs for a
/// moment, is the workspace and the layer in work.
std::string overrun_by_parts(const Instance& instance, const Plan& plan,
                             const std::vector<double>& need);
/// Text for people of a device of the plan that needs `need` bytes, and behind it what these are
/// for.
std::string overrun_by_parts(const Instance& instance, const Plan& plan, DeviceId device,
                             double need);

}  // namespace pptrain
