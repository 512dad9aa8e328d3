#pragma once

#include <string>
#include <vector>

#include "cluster/cluster.hpp"
#include "config/config.hpp"
#include "profile/profile.hpp"

namespace pptrain {

/// Kinds of device whose times in a profile are more than ten times those that the FLOP of the
/// configuration's model and the cluster's rates give, or less than a tenth: a sentence for each.
/// Nothing where the profile is not of that model, or the cluster has no rates.
std::vector<std::string> doubtful_times(const Profile& profile, const Config& config,
                                        const Cluster& cluster);

}  // namespace pptrain
