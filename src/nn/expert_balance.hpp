#pragma once

#include <vector>

#include "model/expert_operators.hpp"

namespace pptrain {

/// What the softmax of each expert, summed over the rows of a micro-batch, counts for in the
/// balance of the experts times these rows: `balance.share` * experts * the share of rows that
/// chose the expert, by which the gradient of the balance follows from that of the softmax.
/// `chosen_rows`: (experts), how many rows chose each, in this layer or in all layers of the model,
/// as the balance is over; some did.
std::vector<double> balance_weights(const op::ExpertBalance& balance, const double* chosen_rows);

}  // namespace pptrain
