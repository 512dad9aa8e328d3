#pragma once

#include <string>

#include "cluster/cluster.hpp"

namespace pptrain {

/// Whether the name of a kind of device has a word that names a data centre's or a workstation's
/// NVIDIA GPU: "t4", "h100-80gb", "nvidia-a100-sxm4-40gb".
bool is_gpu_name(const std::string& kind);

/// Bytes that CUDA, its libraries and NCCL usually take of a GPU of so much memory, beside what a
/// plan counts.
double usual_gpu_reserve(double memory);

/// Takes `bytes` of a kind's whole memory out of what plans may use, in place of its reserve so
/// far.
void set_reserve(DeviceKind& kind, double bytes);

/// Sets the usual reserve of every kind of GPU for which the cluster says none. Emulated devices
/// have all of their memory, since nothing but the plan's own tensors lies in it.
void set_usual_reserves(Cluster& cluster);

}  // namespace pptrain
