#include "runtime/emulation/counted_memory.hpp"

#include <algorithm>

#include "base/error.hpp"
#include "base/units.hpp"

namespace pptrain {

std::string name_of(RankId rank, DeviceId device, const Cluster& cluster) {
  return fmt::format("rank {}, device {} ({})", rank.value, device.value,
                     cluster.kind_of(device).name);
}

void CountedMemory::take(double bytes) {
  if (in_use_ + bytes > capacity_) {
    throw_runtime_failure({device_,
                           fmt::format("out of device memory: {} asked for with {} in use",
                                       format_bytes(bytes), format_bytes(in_use_)),
                           fmt::format("the device has {}", format_bytes(capacity_)),
                           "use a smaller micro-batch or more pipeline stages"});
  }
  in_use_ += bytes;
  peak_ = std::max(peak_, in_use_);
}

}  // namespace pptrain
