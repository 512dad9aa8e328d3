#include "cuda/flash_launch.hpp"
#include "cuda/flash_tile.hpp"

namespace pptrain::cuda {
namespace {

using kernels::fast_exp;
using kernels::Rows;

/// A tile of queries against one tile of keys after another; what has been summed up is scaled when a larger score
/// comes.
template <class T, class Tile>
__global__ void forward(FlashShape s, Rows<const T> qkv, Rows<T> out, float* log_sum) {
  const FlashPlace at(s, Tile::tile, true);
  float* queries = shared_floats();
  float* keys = queries + Tile::tile * row_stride(s);  // then values
  float* scores = keys + Tile::tile * row_stride(s) + at.row * Tile::score_stride;
  const std::size_t query = at.first + at.row;
  const float* own = queries + at.row * row_stride(s);
  float most = minus_infinity, sum = 0;
  RowSums<Tile> result;
  load_tile<Tile>(s, at.part(s, qkv, 0), at.first, queries);
  for (std::size_t first = 0; first <= at.first; first += Tile::tile) {
    const std::size_t visible = query - first + 1 < Tile::tile ? query - first + 1 : Tile::tile;
    sync_block();
    load_tile<Tile>(s, at.part(s, qkv, 1), first, keys);
    sync_block();
    float largest = most;
    for (unsigned j = at.lane; j < visible; j += lanes) {
      scores[j] = s.scale * dot(own, keys + j * row_stride(s), s.head_size);
      largest = Larger()(largest, scores[j]);
    }
    largest = combine_row(largest, Larger());
    const float correction = fast_exp(most - largest);
    float part = 0;
    for (unsigned j = at.lane; j < visible; j += lanes) part += scores[j] = fast_exp(scores[j] - largest);
    sum = sum * correction + combine_row(part, Plus());
    most = largest;
    result.scale(correction);
    sync_block();
    load_tile<Tile>(s, at.part(s, qkv, 2), first, keys);
    sync_block();
    for (unsigned j = 0; j < visible; ++j) {
      result.add(scores[j], keys + j * row_stride(s), at.lane, s.head_size);
    }
  }
  if (query >= s.length) return;
  result.write(at.own(s, out).row(query), 1.0f / sum, at.lane, s.head_size);
  if (at.lane == 0) log_sum[at.sums(s) + query] = most + logf(sum);
}

}  // namespace

void flash_forward(ComputeStream& stream, const FlashShape& shape, const Matrix& qkv, const Matrix& out,
                   float* log_sum) {
  for_type_and_tile(qkv.type, shape.head_size, [&](auto element, auto tile) {
    using T = decltype(element);
    using Tile = decltype(tile);
    launch_flash<Tile>(stream, shape, 2, 1, forward<T, Tile>, shape, kernels::read_rows<T>(qkv),
                       kernels::write_rows<T>(out), log_sum);
  });
}

}  // namespace pptrain::cuda
