#include "cuda/kernels.hpp"
#include "cuda/rows.hpp"
#include "kernels/bodies/cross_entropy.hpp"
#include "kernels/typed_rows.hpp"

namespace pptrain {

using namespace cuda;
using namespace kernels;

void CudaKernels::cross_entropy_max(const Matrix& logits, float* row_max) {
  with_type(logits.type, [&](auto element) {
    using T = decltype(element);
    launch_rows(device_.stream(), logits.rows, logits.columns,
                bodies::CrossEntropyMax<T>{read_rows<T>(logits), row_max, logits.columns});
  });
}

void CudaKernels::cross_entropy_sum(const Matrix& logits, const std::int32_t* targets, std::int64_t first_class,
                                    const float* row_max, float* row_sum, float* target_logit) {
  with_type(logits.type, [&](auto element) {
    using T = decltype(element);
    launch_rows(device_.stream(), logits.rows, logits.columns,
                bodies::CrossEntropySum<T>{
                    read_rows<T>(logits), {targets, first_class, logits.columns}, row_max, row_sum, target_logit});
  });
}

void CudaKernels::cross_entropy_gradient(const Matrix& logits, const std::int32_t* targets, std::int64_t first_class,
                                         const float* row_max, const float* row_sum, float scale) {
  with_type(logits.type, [&](auto element) {
    using T = decltype(element);
    launch_rows(device_.stream(), logits.rows, logits.columns,
                bodies::CrossEntropyGradient<T>{
                    write_rows<T>(logits), {targets, first_class, logits.columns}, row_max, row_sum, scale});
  });
}

}  // namespace pptrain
