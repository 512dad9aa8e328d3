#pragma once

#include "cost/bound_inputs.hpp"

namespace pptrain {

/// Bound on AMP Eq. 4, T = (m-1) max t_i + sum t_i + sum e_i + max AR_i, over all plans.
///
/// What a large group of replicas saves in sum t_i it pays in gradient all-reduces, what a small
/// one saves there it pays by a longer line of stages. Both are charged to layers, so that each
/// layer's cheapest choice gives a bound on the sum, whatever the stages are.
///
/// Let a stage have r replicas of n devices, replica j on kind k_j with share y_j of the B samples
/// of a micro-batch, b_j = y_j B; let t_lj be the seconds of layer l there, p_k the price of a
/// device of kind k, all devices together being worth 1 (`WorkPrices`), D their number, tau = max t_i.
/// - t_i >= sum_l sum_j y_j t_lj, since no replica takes longer than the stage.
/// - Capacity: sum_i (price of stage i's devices) t_i <= tau, so with any nu >= 0
///   (m-1) tau >= (m-1-nu) tau + nu sum_i sum_j sum_l n p_kj t_lj. Nor are a stage's devices worth more than
///   all: any part of t_i may be replaced by the same part of sum_j sum_l n p_kj t_lj.
/// - max AR_i >= sum_i (r_i n_i / D) AR_i, and AR_i = 2 (r-1)/r sum_l G_l / n / bandwidth with G_l the
///   gradient bytes: 2/D (r-1) G_l / bandwidth per layer, and r = sum_j y_j (1 / y_j).
/// - Cuts: there are at least sum t_i / tau stages and one cut less, each of at least the least output and the samples
///   of the largest of at most r_i + r_(i+1) - 1 overlaps over the best link. Stages inside one node have devices worth
///   at most the dearest node c, so they lie on at least sum_i sum_lj n p_kj t_lj / (tau c) nodes, and a line through
///   so many nodes has one cut between nodes less than that, over the best uplink.
/// - Memory: all stages together hold no more than all devices have. With a multiplier, each byte of model state that
///   a replica holds, and of a micro-batch's activations (at least one is in flight), is charged to its layer.
/// Where the members of a group are of several kinds their shards may be as uneven as their speeds: the group takes the
/// harmonic mean of what each kind would take, and the collectives on top.
/// With tau between two values everything is a mean over j, weighted by y_j, of a function of
/// (k_j, n, b_j, where the groups lie); it is at least the least value of that function. Where all
/// replicas are in one node they are of one kind, r <= devices / n, and by convexity of the curves
/// the mean is at least the value at the even share B / r. Intervals of tau are halved, those with the
/// least bound first, over all divisors m of the batch.
double amp_bound_seconds(const BoundInputs& inputs, std::int64_t global_batch_size);

}  // namespace pptrain
