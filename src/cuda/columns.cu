#include "cuda/kernels.hpp"
#include "cuda/rows.hpp"
#include "kernels/bodies/columns.hpp"
#include "kernels/bodies/typed_rows.hpp"

namespace pptrain {

using namespace cuda;
using namespace kernels;

void CudaKernels::spread_columns(const Matrix& table, const std::int32_t* source,
                                 const Matrix& out) {
  launch_rows(
      device_.stream(), out.rows, out.columns,
      bodies::SpreadColumns{read_rows<float>(table), source, write_rows<float>(out), out.columns});
}

void CudaKernels::collect_columns(const Matrix& x, const std::int32_t* source,
                                  const Matrix& table) {
  launch_rows(device_.stream(), x.rows, table.columns,
              bodies::CollectColumns{read_rows<float>(x), source, write_rows<float>(table),
                                     x.columns, table.columns});
}

}  // namespace pptrain
