#pragma once

#include <string>
#include <vector>

#include "cluster/cluster.hpp"
#include "config/config.hpp"
#include "model/model.hpp"
#include "profile/kernel_time.hpp"
#include "profile/profile.hpp"

namespace pptrain {

/// The kinds of device that some node has, in the order of the file.
std::vector<const DeviceKind*> used_kinds(const Cluster& cluster);

/// The peak rates of a kind, each times its efficiency. A kind without FLOP rate for the precision
/// or without memory bandwidth throws `Error` (exit code 2) with `source` as the place.
/// In a runtime that is not pptrain's own, 16-bit and TF32 products on a GPU whose kind is known
/// (`gpu_kind`) have its constants and those of the runtime.
Roofline roofline_of(const DeviceKind& kind, Precision precision, const std::string& source,
                     const RuntimeTraits& runtime = runtimes().front(),
                     const KernelConstants& constants = fitted_constants());

/// The runtime that a configuration's computed profile is for: the one of `[profile] like`, as its
/// other keys say it.
RuntimeTraits runtime_of(const Config& config);

/// Bytes of weights, gradients and optimizer state per parameter. pptrain keeps fp32 weights and
/// gradients, with a 16-bit copy of the weights where it computes in 16 bits; others keep 16-bit
/// weights and the fp32 ones with the optimizer's state.
BytesPerParameter bytes_per_parameter(const Config& config);
BytesPerParameter bytes_per_parameter(const Config& config, const Model& model);
/// Bytes of a runtime in a precision, where its optimizer keeps `state` bytes of a parameter beside
/// weights.
BytesPerParameter bytes_per_parameter(const RuntimeTraits& runtime, Precision precision,
                                      double state);

/// A profile without measurement: the configuration's model on every kind of device that the
/// cluster uses, at each of its tensor-parallel degrees, or the one that the configuration says, up
/// to the number of devices.
Profile analytic_profile(const Config& config, const Cluster& cluster,
                         const KernelConstants& constants = fitted_constants());
/// A profile without measurement of the configuration's `model`, which is built: on every kind of
/// device that the cluster uses, at each of its tensor-parallel degrees, or the one that the
/// configuration says, up to the number of devices.
Profile analytic_profile(const Config& config, const Model& model, const Cluster& cluster,
                         const KernelConstants& constants);

/// Adds rows for each kind of device that the cluster uses and the profile lacks: the rows of the
/// first kind that both have, times the ratio of the two kinds' roofline times where the profile is
/// of a published model (`published_models`), else times the ratio of their peak FLOP rates. Says
/// for each kind what was done. Throws `Error` (exit code 2) where the cluster has no rates for any
/// kind of the profile.
std::vector<std::string> fill_missing_kinds(Profile& profile, const Cluster& cluster,
                                            Precision precision, const std::string& source);

}  // namespace pptrain
