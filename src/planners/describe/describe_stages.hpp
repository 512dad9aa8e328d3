#pragma once

#include <string>

#include "cluster/cluster.hpp"
#include "plan/plan.hpp"

namespace pptrain {

/// The plan as a picture: a row per stage with its layers, shape, samples, time, memory and devices.
std::string stages_text(const Plan& plan, const Cluster& cluster);

/// Devices of the cluster that no stage uses; empty when there are none.
std::string unused_text(const Plan& plan, const Cluster& cluster);

}  // namespace pptrain
