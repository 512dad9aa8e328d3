#pragma once

#include <optional>
#include <vector>

#include "plan/plan.hpp"
#include "planners/ask/restrictions.hpp"
#include "profile/profile.hpp"

namespace pptrain {

/// The schedules that `auto` may give a plan, the most promising first; the plan's own where the
/// restrictions name one, with so many chunks per stage as they leave. Those that split B and W are
/// left out where the profile does not.
std::vector<ScheduleChoice> schedule_choices(const Restrictions& restrictions,
                                             const Profile& profile, const Plan& plan);

/// The plan with another schedule, which the restrictions leave. Where that has other chunks, the
/// layers are divided anew: the chunks lie as the schedule has them, and each stage keeps its share
/// of the work, in equal parts. Nothing where there are fewer layers than chunks, or than chunks
/// may begin with, or blocks that such a division would cut.
std::optional<Plan> with_schedule(const Restrictions& restrictions, const Profile& profile,
                                  const Plan& plan, const ScheduleChoice& schedule);

}  // namespace pptrain
