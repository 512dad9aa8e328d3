#pragma once

#include <memory>
#include <vector>

#include "planners/meshes/stage_mesh.hpp"

namespace pptrain {

/// Whale's VirtualDevices: which devices each TaskGraph (stage) of a pipeline gets.
using VirtualDevices = std::vector<std::vector<DeviceId>>;  // of each TaskGraph, replica after
                                                            // replica

/// `counts`: devices of each TaskGraph in one pipeline; `pipelines`: replicas of the whole pipeline
/// (nested data parallelism). All devices of the cluster are used: pipelines x sum of counts.
/// Without equal ones:
/// - the devices in file order, TaskGraph after TaskGraph, replicas of a TaskGraph side by side;
/// - the same with the devices of large memory first, since the first stages hold the most
///   micro-batches (Whale 3.3.2);
/// - pipeline after pipeline, so that each has its devices side by side and each TaskGraph the same
/// mix
///   of kinds (Whale 3.2.1), the devices of each pipeline with large memory first.
std::vector<VirtualDevices> virtual_devices(const Cluster& cluster, const std::vector<int>& counts,
                                            int pipelines);

}  // namespace pptrain
