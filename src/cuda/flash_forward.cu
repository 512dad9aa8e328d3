#include "cuda/flash_launch.hpp"
#include "cuda/flash_tile.hpp"

namespace pptrain::cuda {
namespace {

using kernels::fast_exp;
using kernels::Rows;

/// A tile of queries against one tile of keys after another; what has been summed up is scaled when
/// a larger score comes.
template <class T, class Tile>
__global__ void forward(FlashShape s, Rows<const T> q, Rows<const T> k, Rows<const T> v,
                        Rows<T> out, float* log_sum) {
  const auto at = FlashPlace::of<Tile>(s.length, s.heads, true);
  const std::size_t key_head = (s.first + at.head) / s.group;
  float* queries = shared_floats();
  float* keys = queries + Tile::tile * row_stride(s);  // then values
  float* scores = keys + Tile::tile * row_stride(s) + at.row * Tile::score_stride;
  const std::size_t query = at.first + at.row, begin = first_seen(s, at.sample, query);
  const std::size_t num_keys = keys_of_sample(s, at.sample);
  const float* own = queries + at.row * row_stride(s);
  float most = minus_infinity, sum = 0;
  RowSums<Tile> result;
  load_tile<Tile>(s, at.of_queries(s, q, at.head), s.length, at.first, queries);
  const std::size_t first_tile = first_seen(s, at.sample, at.first) / Tile::tile * Tile::tile;
  for (std::size_t first = first_tile; first < end_of_keys(s, num_keys, at.first);
       first += Tile::tile) {
    // This row sees the keys of the tile from `hidden` to `visible`, or none of a tile that other
    // rows see.
    const unsigned visible = visible_keys<Tile>(s, num_keys, query, first);
    const unsigned hidden = begin > first ? static_cast<unsigned>(begin - first) : 0;
    sync_block();
    load_tile<Tile>(s, at.of_keys(s, k, key_head), num_keys, first, keys);
    sync_block();
    float largest = most;
    for (unsigned j = at.lane; j < visible; j += lanes) {
      if (j < hidden) continue;
      const float product = dot(own, keys + j * row_stride(s), s.head_size);
      scores[j] = score_of(s, product, at.head, query, first + j).value;
      largest = Larger()(largest, scores[j]);
    }
    largest = combine_row(largest, Larger());
    const float correction = most == largest ? 1.0f : fast_exp(most - largest);
    float part = 0;
    for (unsigned j = at.lane; j < visible; j += lanes) {
      if (j >= hidden) part += scores[j] = fast_exp(scores[j] - largest);
    }
    sum = sum * correction + combine_row(part, Plus());
    most = largest;
    result.scale(correction);
    sync_block();
    load_tile<Tile>(s, at.of_keys(s, v, key_head), num_keys, first, keys);
    sync_block();
    for (unsigned j = hidden; j < visible; ++j) {
      result.add(scores[j], keys + j * row_stride(s), at.lane, s.head_size);
    }
  }
  if (query >= s.length) return;
  result.write(at.of_queries(s, out, at.head).row(query), 1.0f / sum, at.lane, s.head_size);
  if (at.lane == 0) log_sum[at.sums(s, at.head) + query] = most + logf(sum);
}

}  // namespace

void flash_forward(ComputeStream& stream, const FlashShape& shape,
                   const AttentionForwardCall& call) {
  for_type_and_tile(call.q.type, shape, [&](auto element, auto tile) {
    using T = decltype(element);
    using Tile = decltype(tile);
    launch_flash<Tile>(stream, shape, shape.length, shape.heads, 2, 1, forward<T, Tile>, shape,
                       kernels::read_rows<T>(call.q), kernels::read_rows<T>(call.k),
                       kernels::read_rows<T>(call.v), kernels::write_rows<T>(call.out),
                       call.log_sum);
  });
}

}  // namespace pptrain::cuda
