#pragma once

#include <vector>

#include "cost/cost.hpp"

namespace pptrain {

/// Bytes that leave each switch of the cluster over its uplink in one step, in the order of
/// `Cluster::switches`: activations and their gradients across cuts, in the forms of
/// `cheapest_forms`, sums of gradients, and the weights that ZeRO stage 3 gathers. Sums and gathers
/// over replicas go in a ring of nodes (`two_level_sum`): of k nodes each sends 2 (k - 1) / k of
/// the bytes to the next one. What members of a tensor-parallel group exchange is not counted, as
/// are sums of single numbers.
std::vector<double> bytes_leaving_switches(const Instance& instance, const Plan& plan);

/// Money that a step costs for these bytes, by the `egress` of the switches.
double egress_money(const Instance& instance, const Plan& plan);

}  // namespace pptrain
