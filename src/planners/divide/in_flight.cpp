#include "planners/divide/in_flight.hpp"

#include <algorithm>

namespace pptrain {

InFlight::InFlight(const std::string& schedule, std::int64_t micro_batches, int most_stages) {
  for (std::int64_t behind = 0; behind <= most_stages; ++behind) {
    stored_.push_back(static_cast<double>(schedule == "gpipe" ? micro_batches : std::min(behind + 1, micro_batches)));
  }
  while (stored_[most_behind_] < stored_[most_stages - 1]) ++most_behind_;
}

}  // namespace pptrain
