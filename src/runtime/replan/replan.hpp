#pragma once

#include <map>
#include <optional>
#include <string>

#include "config/config.hpp"
#include "plan/plan.hpp"
#include "runtime/replan/slowed_devices.hpp"

namespace pptrain {

/// How a job runs at present.
struct Progressing {
  const Plan& plan;
  const std::map<DeviceId, double>& slowdowns;  ///< how many times as long as profiled these
                                                ///< devices compute
  double iteration_seconds = 0.0;               ///< measured
  std::int64_t steps_left = 0;
};

/// What planning again came to.
struct Replan {
  std::optional<Plan> plan;  ///< to go on with; nothing: the present plan stays
  std::string told;          ///< what was found, with its numbers
};

/// Plans again for devices of these speeds, as the configuration asks, in at most `seconds`.
///
/// Both plans are predicted on the slowed devices; what the new one gains on the measured iteration
/// in all the steps that are left must exceed the time of planning and of moving the training
/// state, which takes as long as sending all that one device will hold over the slowest link. While
/// state moves a device holds both plans' parts, which must fit. Where planning fails the present
/// plan stays.
Replan replan(const Config& config, const Cluster& cluster, const Profile& profile,
              const Progressing& job, double seconds);

}  // namespace pptrain
