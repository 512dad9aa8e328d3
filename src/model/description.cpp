#include "model/description.hpp"

namespace pptrain {

double ModelDescription::num_parameters() const {
  double sum = -shared_parameters;
  for (const LayerDescription& layer : layers) sum += layer.parameters;
  return sum;
}

double flop_of(const std::vector<Kernel>& pass) {
  double sum = 0.0;
  for (const Kernel& kernel : pass) sum += kernel.flop;
  return sum;
}

double element_bytes(Precision precision) { return precision == Precision::fp32 ? 4.0 : 2.0; }

std::vector<int> dividing_degrees(std::int64_t count, int most) {
  std::vector<int> degrees;
  for (int n = 1; n <= most && count % n == 0; n *= 2) degrees.push_back(n);
  return degrees;
}

}  // namespace pptrain
