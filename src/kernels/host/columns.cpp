#include "kernels/bodies/columns.hpp"

#include "kernels/host/host_kernels.hpp"
#include "kernels/host/launch.hpp"

namespace pptrain {

using namespace kernels;

void HostKernels::spread_columns(const Matrix& table, const std::int32_t* source,
                                 const Matrix& out) {
  launch_rows(
      "spread_columns", 0, out.rows,
      bodies::SpreadColumns{read_rows<float>(table), source, write_rows<float>(out), out.columns});
}

void HostKernels::collect_columns(const Matrix& x, const std::int32_t* source,
                                  const Matrix& table) {
  launch_rows("collect_columns", 0, x.rows,
              bodies::CollectColumns{read_rows<float>(x), source, write_rows<float>(table),
                                     x.columns, table.columns});
}

}  // namespace pptrain
