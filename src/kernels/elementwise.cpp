#include <Kokkos_Core.hpp>
#include <cstring>

#include "kernels/kernels.hpp"

namespace pptrain::kernels {

void add(const float* x, float* y, std::size_t n) {
  Kokkos::parallel_for("add", Kokkos::RangePolicy<Kokkos::IndexType<std::size_t>>(0, n),
                       [=](std::size_t i) { y[i] += x[i]; });
}

void fill_zero(float* x, std::size_t n) { std::memset(x, 0, n * sizeof(float)); }

}  // namespace pptrain::kernels
