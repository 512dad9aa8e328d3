#pragma once

#include <Kokkos_Core.hpp>
#include <cstddef>

#include "kernels/bodies/typed_rows.hpp"

/// How the bodies run on the host: Kokkos hands out pieces, the compiler vectorises within one.
namespace pptrain::kernels {

/// Kokkos' range over whole pieces of work.
inline auto pieces(std::size_t count) {
  return Kokkos::RangePolicy<Kokkos::DefaultHostExecutionSpace, Kokkos::IndexType<std::size_t>>(
      0, count);
}

/// body(i) for i in [0, n).
template <class Body>
void launch_elements(const char* name, std::size_t n, const Body& body) {
  constexpr std::size_t piece = 4096;
  Kokkos::parallel_for(name, pieces((n + piece - 1) / piece), [=](std::size_t p) {
    const std::size_t last = n < (p + 1) * piece ? n : (p + 1) * piece;
    const Body local = body;
#pragma omp simd
    for (std::size_t i = p * piece; i < last; ++i) local(i);
  });
}

/// body(team, row) for row in [first, last).
template <class Body>
void launch_rows(const char* name, std::size_t first, std::size_t last, const Body& body) {
  Kokkos::parallel_for(name, pieces(last - first),
                       [=](std::size_t r) { body(SerialTeam(), first + r); });
}

/// body.add_rows<N>(column, row) for every column, so that the rows [first, last) are covered in
/// order: reductions over rows, the same whatever the number of threads.
template <class Body>
void launch_columns(const char* name, std::size_t columns, std::size_t first, std::size_t last,
                    const Body& body) {
  constexpr std::size_t piece = 512, at_once = 8;
  Kokkos::parallel_for(name, pieces((columns + piece - 1) / piece), [=](std::size_t p) {
    const std::size_t begin = p * piece, end = columns < begin + piece ? columns : begin + piece;
    const Body local = body;
    std::size_t row = first;
    for (; row + at_once <= last; row += at_once) {
#pragma omp simd
      for (std::size_t c = begin; c < end; ++c) local.template add_rows<at_once>(c, row);
    }
    for (; row < last; ++row) {
#pragma omp simd
      for (std::size_t c = begin; c < end; ++c) local.template add_rows<1>(c, row);
    }
  });
}

}  // namespace pptrain::kernels
