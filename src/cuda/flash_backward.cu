#include "cuda/flash_launch.hpp"
#include "cuda/flash_tile.hpp"

namespace pptrain::cuda {
namespace {

using kernels::fast_exp;
using kernels::Rows;

/// Gradient of one score: p (dp - delta) scale with p = exp(scale * score - log_sum), dp = dout value.
struct ScoreGradient {
  float probability, gradient;

  __device__ ScoreGradient(float score, float dprobability, float scale, float log_sum, float delta)
      : probability(fast_exp(scale * score - log_sum)), gradient(probability * (dprobability - delta) * scale) {}
};

/// dq of a tile of queries, and delta = sum of dout * out, which the keys' gradients need.
template <class T, class Tile>
__global__ void query_gradients(FlashShape s, Rows<const T> qkv, Rows<const T> out, const float* log_sum,
                                Rows<const T> dout, Rows<T> dqkv, float* delta) {
  const FlashPlace at(s, Tile::tile, true);
  const std::size_t size = Tile::tile * row_stride(s), query = at.first + at.row;
  float *queries = shared_floats(), *gradients = queries + size, *keys = gradients + size, *values = keys + size;
  float* scores = values + size + at.row * Tile::score_stride;
  const float *own = queries + at.row * row_stride(s), *own_gradient = gradients + at.row * row_stride(s);
  load_tile<Tile>(s, at.part(s, qkv, 0), at.first, queries);
  load_tile<Tile>(s, at.own(s, dout), at.first, gradients);
  sync_block();
  float shift = 0, log = 0;
  if (query < s.length) {
    const T* result = at.own(s, out).row(query);
    for (std::size_t c = at.lane; c < s.head_size; c += lanes) {
      shift += own_gradient[c] * static_cast<float>(result[c]);
    }
    log = log_sum[at.sums(s) + query];
  }
  shift = combine_row(shift, Plus());
  RowSums<Tile> sums;
  for (std::size_t first = 0; first <= at.first; first += Tile::tile) {
    const std::size_t visible = query - first + 1 < Tile::tile ? query - first + 1 : Tile::tile;
    sync_block();
    load_tile<Tile>(s, at.part(s, qkv, 1), first, keys);
    load_tile<Tile>(s, at.part(s, qkv, 2), first, values);
    sync_block();
    for (unsigned j = at.lane; j < visible; j += lanes) {
      scores[j] = ScoreGradient(dot(own, keys + j * row_stride(s), s.head_size),
                                dot(own_gradient, values + j * row_stride(s), s.head_size), s.scale, log, shift)
                      .gradient;
    }
    sync_warp();
    for (unsigned j = 0; j < visible; ++j) sums.add(scores[j], keys + j * row_stride(s), at.lane, s.head_size);
  }
  if (query >= s.length) return;
  sums.write(at.part(s, dqkv, 0).row(query), 1.0f, at.lane, s.head_size);
  if (at.lane == 0) delta[at.sums(s) + query] = shift;
}

/// dk and dv of a tile of keys, from the queries that see them.
template <class T, class Tile>
__global__ void key_gradients(FlashShape s, Rows<const T> qkv, const float* log_sum, Rows<const T> dout, Rows<T> dqkv,
                              const float* delta) {
  const FlashPlace at(s, Tile::tile, false);
  const std::size_t size = Tile::tile * row_stride(s), key = at.first + at.row;
  float *keys = shared_floats(), *values = keys + size, *queries = values + size, *gradients = queries + size;
  float* scores = gradients + size + at.row * Tile::score_stride;
  float* probabilities = scores + Tile::tile * Tile::score_stride;
  const float *own = keys + at.row * row_stride(s), *own_value = values + at.row * row_stride(s);
  const float *log = log_sum + at.sums(s), *shift = delta + at.sums(s);
  RowSums<Tile> key_sums, value_sums;
  load_tile<Tile>(s, at.part(s, qkv, 1), at.first, keys);
  load_tile<Tile>(s, at.part(s, qkv, 2), at.first, values);
  for (std::size_t first = at.first; first < s.length; first += Tile::tile) {
    // Of the queries [first, last), those from the key on see it.
    const std::size_t last = s.length - first < Tile::tile ? s.length - first : Tile::tile;
    const std::size_t begin = key > first ? key - first : 0;
    sync_block();
    load_tile<Tile>(s, at.part(s, qkv, 0), first, queries);
    load_tile<Tile>(s, at.own(s, dout), first, gradients);
    sync_block();
    for (std::size_t i = at.lane; i < last; i += lanes) {
      if (i < begin) continue;
      const ScoreGradient g(dot(own, queries + i * row_stride(s), s.head_size),
                            dot(own_value, gradients + i * row_stride(s), s.head_size), s.scale, log[first + i],
                            shift[first + i]);
      scores[i] = g.gradient;
      probabilities[i] = g.probability;
    }
    sync_warp();
    for (std::size_t i = begin; i < last; ++i) {
      key_sums.add(scores[i], queries + i * row_stride(s), at.lane, s.head_size);
      value_sums.add(probabilities[i], gradients + i * row_stride(s), at.lane, s.head_size);
    }
  }
  if (key >= s.length) return;
  key_sums.write(at.part(s, dqkv, 1).row(key), 1.0f, at.lane, s.head_size);
  value_sums.write(at.part(s, dqkv, 2).row(key), 1.0f, at.lane, s.head_size);
}

}  // namespace

void flash_backward(ComputeStream& stream, const FlashShape& shape, const Matrix& qkv, const Matrix& out,
                    const float* log_sum, const Matrix& dout, const Matrix& dqkv, float* delta) {
  for_type_and_tile(qkv.type, shape.head_size, [&](auto element, auto tile) {
    using T = decltype(element);
    using Tile = decltype(tile);
    const auto from = kernels::read_rows<T>(qkv), gradient = kernels::read_rows<T>(dout);
    const auto to = kernels::write_rows<T>(dqkv);
    launch_flash<Tile>(stream, shape, 4, 1, query_gradients<T, Tile>, shape, from, kernels::read_rows<T>(out), log_sum,
                       gradient, to, delta);
    launch_flash<Tile>(stream, shape, 4, 2, key_gradients<T, Tile>, shape, from, log_sum, gradient, to, delta);
  });
}

}  // namespace pptrain::cuda
