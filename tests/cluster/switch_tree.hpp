#pragma once

#include <string>

namespace pptrain {

/// A CLUSTER.toml of two racks below a row of switches, and of a node that hangs on the top.
inline const std::string tree = R"(
name = "tree"
[[device]]
kind = "g"
memory = "1 GiB"
[[node]]
kind = "a"
count = 2
devices = { kind = "g", count = 2 }
link = { bandwidth = 1000, latency = 1 }
uplink = { bandwidth = 100, latency = 2 }
switch = "rack0"
[[node]]
kind = "b"
devices = { kind = "g" }
uplink = { bandwidth = 80, latency = 3 }
switch = "rack1"
[[node]]
kind = "c"
devices = { kind = "g" }
uplink = { bandwidth = 500, latency = 1 }
switch = "nowhere"
[[switch]]
name = "rack0"
uplink = { bandwidth = 60, latency = 5 }
switch = "row"
[[switch]]
name = "rack1"
switch = "row"
[[switch]]
name = "row"
uplink = { bandwidth = 40, latency = 7 }
)";

}  // namespace pptrain
