#pragma once

#include <vector>

#include "cluster/cluster.hpp"

namespace pptrain {

/// What passes each link of a ring of n members for each byte that it all-reduces: 2(n-1)/n.
inline double all_reduce_share(int n) { return 2.0 * (n - 1) / n; }

/// All-reduce of `bytes` in a group of n as a flat ring, AMP Eq. 3 with latency:
/// 2(n-1)/n * bytes / bandwidth + 2(n-1) * latency over the slowest link of any pair; 0 for n = 1.
double all_reduce_seconds(const Cluster& cluster, const std::vector<DeviceId>& group, double bytes);
/// Seconds of an all-reduce of `bytes` over `n` devices whose slowest link is known; 0 for n = 1.
double all_reduce_seconds(const Link& slowest, int n, double bytes);

/// All-gather after which each of n members has all `bytes`, or reduce-scatter of them, as a ring:
/// half of an all-reduce.
double all_gather_seconds(const Link& slowest, int n, double bytes);

/// All-to-all in which each of n members has `bytes`, in equal shares for all: what goes to the
/// others leaves on one link.
double all_to_all_seconds(const Link& slowest, int n, double bytes);

}  // namespace pptrain
