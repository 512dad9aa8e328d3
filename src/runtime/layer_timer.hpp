#pragma once

#include "config/config.hpp"
#include "kernels/backend.hpp"
#include "model/model.hpp"
#include "profile/profile.hpp"

namespace pptrain {

/// What timing a layer gave.
struct LayerTiming {
  LayerSeconds seconds;         ///< of one micro-batch
  double update_seconds = 0.0;  ///< gradient norm and optimizer step over the layer's parameters
  LayerBytes bytes;             ///< of one micro-batch
};

/// Times one tensor-parallel shard of a layer for micro-batches of `samples`, without any peer.
///
/// Several copies of the layer run one after another, forwards and then backwards, as they do in
/// training: a single layer run again and again would find its weights in the cache. Medians of
/// several passes: on the host by this thread's CPU time, so that ranks sharing a core do not disturb each other; on
/// another device by wall time from when all before has ended to when the work has, launching included.
LayerTiming time_layer(const Config& config, const Model& model, const Layer& layer, int tensor_parallel,
                       std::int64_t samples, const Backend& backend = host_backend());

}  // namespace pptrain
