#include "model/work.hpp"

namespace pptrain {

double flop_of(const std::vector<Kernel>& pass) {
  double sum = 0.0;
  for (const Kernel& kernel : pass) sum += kernel.flop;
  return sum;
}

double element_bytes(Precision precision) { return precision == Precision::fp32 ? 4.0 : 2.0; }

}  // namespace pptrain
