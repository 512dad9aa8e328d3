#include "planners/divide/in_flight.hpp"

#include "base/error.hpp"
#include "config/schedule_kinds.hpp"

namespace pptrain {

InFlight::InFlight(const std::string& schedule, std::int64_t micro_batches, int most_stages) {
  const ScheduleKind& kind = schedule_kind(schedule);
  PPTRAIN_ASSERT(kind.planned_stage_by_stage, "what a stage of \"{}\" stores depends on more",
                 schedule);
  StagePlace place;
  place.micro_batches = micro_batches;
  for (place.left = 1; place.left <= most_stages + 1; ++place.left) {
    stored_.push_back(static_cast<double>(most_stored(kind, place)));
  }
  while (stored_[most_behind_] < stored_[most_stages - 1]) ++most_behind_;
}

}  // namespace pptrain
