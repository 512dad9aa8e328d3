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
  double selective_part = 0.0;  ///< of the seconds of F, what B takes more with selective
                                ///< recomputation
  double peak_bytes = 0.0;      ///< of the device, for all copies that were timed
};

/// Times one tensor-parallel shard of a layer for micro-batches of `samples`, without any peer.
///
/// Several copies of the layer run one after another, forwards and then backwards, as they do in
/// training: a single layer run again and again would find its weights in the cache. Medians of
/// several passes by the device's clock (`Device::moment`): this thread's CPU time on the host, so
/// that ranks sharing a core do not disturb each other, events of a GPU, which is warmed up first.
LayerTiming time_layer(const Config& config, const Model& model, const Layer& layer,
                       int tensor_parallel, std::int64_t samples,
                       const Backend& backend = host_backend());

}  // namespace pptrain
