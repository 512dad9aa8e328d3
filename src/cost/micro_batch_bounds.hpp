#pragma once

#include <algorithm>
#include <vector>

#include "cost/bound_inputs.hpp"
#include "cost/work_prices.hpp"

namespace pptrain {

/// What no plan with micro-batches of `samples` samples can avoid, in seconds of one micro-batch.
struct MicroBatchBounds {
  double samples = 0.0;
  /// All layers shared by all devices in proportion to speed, each at its best share of the micro-batch.
  WorkPrices work;
  /// The layer that takes longest, when all devices are its replicas. It lies in one stage.
  double slowest_seconds = 0.0;

  /// No stage takes less in a plan whose largest is the least.
  double stage_seconds() const { return std::max(work.seconds, slowest_seconds); }
};

MicroBatchBounds micro_batch_bounds(const BoundInputs& inputs, double samples, CollectiveLaw law);

/// Forward and backward of a micro-batch through all layers, one after another, on average over the samples.
double path_seconds(const BoundInputs& inputs, double samples, CollectiveLaw law);

/// Least device-seconds of a micro-batch per layer and kind.
std::vector<LayerWork> layer_work(const BoundInputs& inputs, double samples, CollectiveLaw law);

}  // namespace pptrain
