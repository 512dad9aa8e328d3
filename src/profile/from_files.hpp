#pragma once

#include <string>

#include "cluster/cluster.hpp"
#include "config/config.hpp"
#include "profile/profile.hpp"

namespace pptrain {

/// The profile that `[profile] file` names, of the very model that the configuration names (else
/// `Error`, exit code 2).
Profile named_profile(const Config& config);

/// Counts the bytes of gradients between replicas in the precision that the configuration names.
void count_gradients(Profile& profile, GradientPrecision precision);

/// Sets aside of GPUs what the machine usually takes (`set_usual_reserves`), for a job whose times
/// are computed or measured by pptrain. Where a PROFILE.json is named, by `given` or the
/// configuration, plans may use all memory but the reserves that the cluster's file says.
void set_reserves(Cluster& cluster, const Config& config, const std::string& given);

/// The profile of a job that looks at no machine: that of the file `given` or else of the
/// configuration, kinds of device that it lacks filled in where `[profile] analytic` allows it,
/// which is logged; without a file computed from the rates of the cluster's devices. Times of a
/// file that contradict the model's FLOP by more than ten are warned of.
Profile profile_without_machine(const Config& config, const Cluster& cluster,
                                const std::string& given);

}  // namespace pptrain
