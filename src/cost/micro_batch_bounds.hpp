#pragma once

#include "cost/bound_inputs.hpp"

namespace pptrain {

/// What no stage of a plan with micro-batches of `samples` can avoid for one of them where its
/// largest stage takes the least: the larger of
/// - all layers shared by all devices in proportion to speed, each at its best share of the
/// micro-batch;
/// - the layer that takes longest, which lies in one stage, with all devices as its replicas.
double stage_seconds(const BoundInputs& inputs, double samples);

/// Forward and backward of a micro-batch through all layers, one after another, on average over the
/// samples.
double path_seconds(const BoundInputs& inputs, double samples);

}  // namespace pptrain
