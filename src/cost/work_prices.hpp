#pragma once

#include <vector>

namespace pptrain {

/// Device-seconds of equal layers on each kind of device.
struct LayerWork {
  std::vector<double> on_kind;
  double count = 1.0;
};

/// Bound from below on how long the work takes when all devices share it, any part of a layer on
/// any kind: `min T: sum_l x_lk work_lk <= T devices_k, sum_k x_lk = 1`. By duality any prices p >=
/// 0 with sum p_k devices_k = 1 bound T from below by sum_l min_k p_k work_lk. Multiplicative
/// weights bring this sum up to the optimum; it is a bound at every step.
double shared_work_seconds(const std::vector<LayerWork>& work, const std::vector<double>& devices);

}  // namespace pptrain
