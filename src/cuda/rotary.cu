#include "cuda/kernels.hpp"
#include "cuda/packs.hpp"
#include "kernels/bodies/rotary.hpp"
#include "kernels/bodies/typed_rows.hpp"
#include "kernels/host/rotation.hpp"

namespace pptrain {

using namespace cuda;
using namespace kernels;

namespace {

/// A row's pairs are counted over all heads; a pack of them lies in one head.
template <class T>
struct RotatePacks {
  Rows<T> x;
  Rows<const float> table;
  unsigned sequence_length, head_size, pairs;
  bool back;

  template <unsigned N>
  PPTRAIN_FUNCTION void apply(std::size_t row, std::size_t c) const {
    const auto pair = static_cast<unsigned>(c);  // 64-bit divisions are slow
    const unsigned head = pair / pairs, in_head = pair % pairs;
    T* first = x.row(row) + static_cast<std::size_t>(head) * head_size + in_head;
    const float* angles = table.row(row % sequence_length) + in_head;
    const Pack<float, N> cosines(angles), sines(angles + pairs);
    Pack<T, N> a(first), b(first + pairs);
    bodies::RotatePairs<T>{
        a.values, b.values, cosines.values, sines.values, back, N}(PackTeam<N>());
    a.store(first);
    b.store(first + pairs);
  }
};

}  // namespace

void CudaKernels::rotate(const Matrix& x, std::size_t sequence_length, std::size_t heads,
                         const Matrix& table, bool back) {
  check_rotation(x, sequence_length, heads, table);
  const std::size_t pairs = table.columns / 2;
  if (heads == 0 || pairs == 0) return;
  const auto number = [](std::size_t n) { return static_cast<unsigned>(n); };
  with_type(x.type, [&](auto element) {
    using T = decltype(element);
    constexpr unsigned n = pack_of<T>();
    const std::size_t head_size = x.columns / heads;
    launch_packs<n>(
        device_.stream(), {x.rows, heads * pairs},
        are_aligned({&x, &table}) && pairs % n == 0 && head_size % n == 0,
        RotatePacks<T>{write_rows<T>(x), read_rows<float>(table), number(sequence_length),
                       number(head_size), number(pairs), back});
  });
}

}  // namespace pptrain
