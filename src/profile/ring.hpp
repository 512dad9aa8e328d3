#pragma once

#include <algorithm>
#include <string>

#include "profile/profile.hpp"

namespace pptrain {

/// Part of the links of a device of this kind that lead to the others of a group of `members`
/// within a node.
inline double reached_links(const Communication& communication, const std::string& kind,
                            double members) {
  const auto neighbours = communication.link_neighbours.find(kind);
  if (neighbours == communication.link_neighbours.end()) return 1.0;
  return std::min(1.0, (members - 1.0) / neighbours->second);
}

/// Seconds in which slices of `bytes` move from member to member of a ring until each member has
/// all of them, at the rate that so many bytes reach on a link of `bandwidth` bytes per second,
/// without what the hops take.
inline double moving_seconds(const Communication& communication, double members, double bytes,
                             double bandwidth) {
  return (members - 1.0) / members * (bytes + communication.half_bytes) / bandwidth;
}

/// Seconds in which the members gather `bytes` of which each has its slice: a slice passes all
/// members, `hop` seconds from one to the next.
inline double ring_gather_seconds(const Communication& communication, double members, double bytes,
                                  double bandwidth, double hop) {
  return moving_seconds(communication, members, bytes, bandwidth) + (members - 1.0) * hop +
         communication.start_seconds;
}

}  // namespace pptrain
