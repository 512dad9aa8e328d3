#pragma once

#include <vector>

namespace pptrain {

/// Device-seconds of equal layers on each kind of device.
struct LayerWork {
  std::vector<double> on_kind;
  double count = 1.0;
};

/// What a second of a device of each kind is worth: all devices together are worth one.
struct WorkPrices {
  std::vector<double> of_kind;
  double seconds = 0.0;  ///< no division of the work over all devices takes less
};

/// How long the work takes when all devices share it, any part of a layer on any kind:
/// `min T: sum_l x_lk work_lk <= T devices_k, sum_k x_lk = 1`. By duality any prices p >= 0 with
/// sum p_k devices_k = 1 bound T from below by sum_l min_k p_k work_lk. Multiplicative weights
/// bring this sum up to the optimum; it is a bound at every step.
WorkPrices share_work(const std::vector<LayerWork>& work, const std::vector<double>& devices);

}  // namespace pptrain
