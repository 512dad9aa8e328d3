#pragma once

namespace pptrain {

/// `bubble_fraction` of plans and simulations: of the time of so many devices in an iteration, the
/// share in which they do not compute, 0 to 1. `busy_seconds`: what all of them compute together;
/// an iteration of 0 s has no bubble.
double bubble_fraction(double busy_seconds, int num_devices, double iteration_seconds);

/// The bubble fraction of an iteration that takes `to_seconds` instead of `from_seconds`, in which
/// devices compute as long as before.
double stretched_bubble(double bubble_fraction, double from_seconds, double to_seconds);

}  // namespace pptrain
