#include "program/passage.hpp"

#include <algorithm>
#include <numeric>

namespace pptrain {
namespace {

/// Intervals of several copies and their devices, in one order.
struct SlicedCopies {
  std::vector<Interval> intervals;
  std::vector<DeviceId> devices;
};

/// Every device's own part of its copy, in units of a sample or row.
SlicedCopies slices_of(const std::vector<EqualCopies>& copies, int units) {
  SlicedCopies slices;
  for (const EqualCopies& copy : copies) {
    const auto num_devices = static_cast<std::int64_t>(copy.devices.size());
    const std::int64_t size = copy.interval.size() * units / num_devices;
    for (std::int64_t k = 0; k < num_devices; ++k) {
      const std::int64_t begin = copy.interval.begin * units + k * size;
      slices.intervals.push_back({begin, begin + size});
      slices.devices.push_back(copy.devices[static_cast<std::size_t>(k)]);
    }
  }
  return slices;
}

/// So many units that every copy divides evenly.
int common_units(const std::vector<EqualCopies>& senders,
                 const std::vector<EqualCopies>& receivers) {
  std::size_t units = 1;
  for (const auto* side : {&senders, &receivers}) {
    for (const EqualCopies& copy : *side) units = std::lcm(units, copy.devices.size());
  }
  return static_cast<int>(units);
}

std::vector<Interval> intervals_of(const std::vector<EqualCopies>& copies) {
  std::vector<Interval> intervals;
  for (const EqualCopies& copy : copies) intervals.push_back(copy.interval);
  return intervals;
}

/// The device itself where it is one of them.
DeviceId sender_for(DeviceId receiver, std::size_t k, const std::vector<DeviceId>& senders) {
  const bool has_it = std::find(senders.begin(), senders.end(), receiver) != senders.end();
  return has_it ? receiver : senders[k % senders.size()];
}

Passage whole_passage(const std::vector<EqualCopies>& senders,
                      const std::vector<EqualCopies>& receivers) {
  Passage result;
  for (const Overlap& overlap : intersect(intervals_of(senders), intervals_of(receivers))) {
    const std::vector<DeviceId>& from = senders[static_cast<std::size_t>(overlap.from)].devices;
    const std::vector<DeviceId>& to = receivers[static_cast<std::size_t>(overlap.to)].devices;
    for (std::size_t k = 0; k < to.size(); ++k) {
      result.messages.push_back({sender_for(to[k], k, from), to[k], overlap.interval});
    }
  }
  return result;
}

}  // namespace

std::vector<EqualCopies> sample_copies(const Mesh& stage) {
  std::vector<EqualCopies> copies;
  for (std::size_t r = 0; r < stage.devices.size(); ++r)
    copies.push_back({stage.samples[r], stage.devices[r]});
  return copies;
}

Passage passage(const std::vector<EqualCopies>& senders, const std::vector<EqualCopies>& receivers,
                TransferForm form) {
  if (form == TransferForm::whole) return whole_passage(senders, receivers);
  Passage result;
  result.form = TransferForm::slices;
  result.units = common_units(senders, receivers);
  const SlicedCopies from = slices_of(senders, result.units);
  const SlicedCopies to = slices_of(receivers, result.units);
  for (const Overlap& overlap : intersect(from.intervals, to.intervals)) {
    result.messages.push_back({from.devices[static_cast<std::size_t>(overlap.from)],
                               to.devices[static_cast<std::size_t>(overlap.to)], overlap.interval});
  }
  return result;
}

}  // namespace pptrain
