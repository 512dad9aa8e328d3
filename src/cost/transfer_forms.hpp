#pragma once

#include "cost/cost.hpp"
#include "program/passage.hpp"

namespace pptrain {

/// In which form each cut's activations and gradients, and the gradient of a tied embedding, cross
/// sooner: one micro-batch, all its messages at once, uplinks shared by those that pass them, then
/// the gather of the slices over the receivers' own links. Whole copies where both take as long,
/// and inside a node whose devices share cores.
TransferForms cheapest_forms(const Instance& instance, const Plan& plan);

/// Until all messages have arrived, `bytes` per sample or row.
double passage_seconds(const Cluster& cluster, const Passage& passage, double bytes);

/// The longest gather of those who need the same and have received it in slices.
double received_gather_seconds(const Cluster& cluster, const std::vector<EqualCopies>& receivers,
                               double bytes);

}  // namespace pptrain
