#pragma once

#include "plan/plan.hpp"
#include "planners/reference/choices.hpp"
#include "planners/reference/random_instance.hpp"

namespace pptrain::reference {

/// A valid plan of the instance, whether or not it fits: any contiguous division, replicas, degrees
/// that have rows, devices, and uneven samples, on all or some of the devices.
Plan random_plan(const RandomInstance& instance, Choices& choices);

/// Gives the stages ZeRO stages, recomputation, offloading, uneven shards, and blocks that divide
/// some of their layers differently.
void divide_differently(const RandomInstance& instance, Choices& choices, Plan& plan);

}  // namespace pptrain::reference
