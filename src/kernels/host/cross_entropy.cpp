#include "kernels/bodies/cross_entropy.hpp"

#include <cmath>

#include "kernels/host/host_kernels.hpp"
#include "kernels/host/launch.hpp"

namespace pptrain {

using namespace kernels;

void HostKernels::soft_cap(const Matrix& x, float cap) {
  with_type(x.type, [&](auto element) {
    using T = decltype(element);
    launch_rows("soft_cap", 0, x.rows, bodies::SoftCap<T>{write_rows<T>(x), cap, x.columns});
  });
}

void HostKernels::cross_entropy_max(const Matrix& logits, float* row_max) {
  with_type(logits.type, [&](auto element) {
    using T = decltype(element);
    launch_rows("cross_entropy_max", 0, logits.rows,
                bodies::CrossEntropyMax<T>{read_rows<T>(logits), row_max, logits.columns});
  });
}

void HostKernels::cross_entropy_sum(const Matrix& logits, const Targets& targets,
                                    const float* row_max, float* row_sum, float* target_logit) {
  with_type(logits.type, [&](auto element) {
    using T = decltype(element);
    launch_rows(
        "cross_entropy_sum", 0, logits.rows,
        bodies::CrossEntropySum<T>{
            read_rows<T>(logits), {targets, logits.columns}, row_max, row_sum, target_logit});
  });
}

void HostKernels::cross_entropy_gradient(const Matrix& logits, const Targets& targets,
                                         const float* row_max, const float* row_sum,
                                         const LossGradient& gradient) {
  with_type(logits.type, [&](auto element) {
    using T = decltype(element);
    launch_rows("cross_entropy_gradient", 0, logits.rows,
                bodies::CrossEntropyGradient<T>{
                    write_rows<T>(logits), {targets, logits.columns}, row_max, row_sum, gradient});
  });
}

void HostKernels::cross_entropy_loss(const float* row_max, const float* row_sum,
                                     const float* target_logit, std::size_t rows, double* loss,
                                     double z_loss) {
  double sum = 0;
  for (std::size_t r = 0; r < rows; ++r) {
    if (std::isinf(row_sum[r])) continue;
    const double logz = std::log(static_cast<double>(row_sum[r])) + static_cast<double>(row_max[r]);
    sum += logz - static_cast<double>(target_logit[r]);
    if (z_loss != 0.0) sum += z_loss * logz * logz;
  }
  *loss += sum;
}

}  // namespace pptrain
