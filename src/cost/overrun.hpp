#pragma once

#include <string>

#include "cluster/cluster.hpp"

namespace pptrain {

/// Text for people of a device that needs more bytes than plans may use of it: "device 3 (t4) needs 15 GiB of its 14
/// GiB beside a reserve of 1 GiB, 1 GiB too much".
std::string overrun_text(const Cluster& cluster, DeviceId device, double need);

}  // namespace pptrain
