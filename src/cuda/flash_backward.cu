#include "cuda/flash_launch.hpp"
#include "cuda/flash_tile.hpp"

namespace pptrain::cuda {
namespace {

using kernels::fast_exp;
using kernels::Rows;

/// Gradient of one product of query and key: p (dp - delta) scale with p = exp(score - log_sum), dp
/// = dout value, times the derivative of the score.
struct ScoreGradient {
  float probability, gradient;

  __device__ ScoreGradient(kernels::ValueWithDerivative score, float dprobability, float scale,
                           float log_sum, float delta)
      : probability(fast_exp(score.value - log_sum)),
        gradient(probability * (dprobability - delta) * scale * score.derivative) {}
};

/// Matrices of a backward pass, as rows of one type.
template <class T>
struct FlashGradients {
  Rows<const T> q, k, v, out, dout;
  Rows<T> dq, dk, dv;
  const float* log_sum;
  float* delta;
  float* diagonals;  ///< may be null
};

/// The gradient of a bias lies on the diagonals of the scores. A tile of queries sums up those that
/// it meets, key minus query counted from its last query and the sample's first key on, apart from
/// other tiles.
template <class Tile>
__device__ float* diagonals_of_tile(const FlashShape& s, const FlashPlace& at, float* all) {
  const std::size_t number =
      (at.sample * s.heads + at.head) * Tile::tiles_of(s.length) + at.first / Tile::tile;
  return all + number * width_of_diagonals<Tile>(s);
}

/// Adds the tile of scores against the keys from `first` on. All threads of the block call it.
template <class Tile>
__device__ void add_diagonals(const float* scores, std::size_t first, float* sums) {
  for (unsigned d = threadIdx.x; d < Tile::diagonals; d += Tile::threads) {
    float sum = 0;
    for (unsigned row = 0; row < Tile::tile; ++row) {
      const unsigned shifted = d + row;  // the column and what a tile has before its last row
      if (shifted >= Tile::tile - 1 && shifted < 2 * Tile::tile - 1) {
        sum += scores[row * Tile::score_stride + shifted - (Tile::tile - 1)];
      }
    }
    sums[first + d] += sum;
  }
}

/// dq of a tile of queries, and delta = sum of dout * out, which the keys' gradients need.
template <class T, class Tile>
__global__ void query_gradients(FlashShape s, FlashGradients<T> g) {
  const auto at = FlashPlace::of<Tile>(s.length, s.heads, true);
  const std::size_t key_head = (s.first + at.head) / s.group;
  const std::size_t size = Tile::tile * row_stride(s), query = at.first + at.row;
  const std::size_t begin = first_seen(s, at.sample, query),
                    num_keys = keys_of_sample(s, at.sample);
  float *queries = shared_floats(), *gradients = queries + size, *keys = gradients + size,
        *values = keys + size;
  float *all_scores = values + size, *scores = all_scores + at.row * Tile::score_stride;
  const float *own = queries + at.row * row_stride(s),
              *own_gradient = gradients + at.row * row_stride(s);
  load_tile<Tile>(s, at.of_queries(s, g.q, at.head), s.length, at.first, queries);
  load_tile<Tile>(s, at.of_queries(s, g.dout, at.head), s.length, at.first, gradients);
  sync_block();
  float shift = 0, log = 0;
  if (query < s.length) {
    const T* result = at.of_queries(s, g.out, at.head).row(query);
    for (std::size_t c = at.lane; c < s.head_size; c += lanes) {
      shift += own_gradient[c] * static_cast<float>(result[c]);
    }
    log = g.log_sum[at.sums(s, at.head) + query];
  }
  shift = combine_row(shift, Plus());
  RowSums<Tile> sums;
  const std::size_t first_tile = first_seen(s, at.sample, at.first) / Tile::tile * Tile::tile;
  for (std::size_t first = first_tile; first < end_of_keys(s, num_keys, at.first);
       first += Tile::tile) {
    const unsigned visible = visible_keys<Tile>(s, num_keys, query, first);
    const unsigned hidden = begin > first ? static_cast<unsigned>(begin - first) : 0;
    sync_block();
    load_tile<Tile>(s, at.of_keys(s, g.k, key_head), num_keys, first, keys);
    load_tile<Tile>(s, at.of_keys(s, g.v, key_head), num_keys, first, values);
    sync_block();
    for (unsigned j = at.lane; j < Tile::tile; j += lanes) {
      scores[j] = 0;  // diagonals pass through keys that the query does not see
      if (j < hidden || j >= visible) continue;
      const auto score =
          score_of(s, dot(own, keys + j * row_stride(s), s.head_size), at.head, query, first + j);
      scores[j] = ScoreGradient(score, dot(own_gradient, values + j * row_stride(s), s.head_size),
                                s.scale, log, shift)
                      .gradient;
    }
    sync_warp();
    for (unsigned j = hidden; j < visible; ++j)
      sums.add(scores[j], keys + j * row_stride(s), at.lane, s.head_size);
    if (g.diagonals != nullptr) {
      sync_block();
      add_diagonals<Tile>(all_scores, first, diagonals_of_tile<Tile>(s, at, g.diagonals));
    }
  }
  if (query >= s.length) return;
  sums.write(at.of_queries(s, g.dq, at.head).row(query), 1.0f, at.lane, s.head_size);
  if (at.lane == 0) g.delta[at.sums(s, at.head) + query] = shift;
}

/// A thread adds one distance of one head up, sample by sample and tile by tile.
template <class Tile>
__global__ void sum_diagonals(FlashShape s, const float* diagonals, float* bias_gradient) {
  const std::size_t column = static_cast<std::size_t>(blockIdx.x) * blockDim.x + threadIdx.x,
                    head = blockIdx.y;
  if (column >= s.distances()) return;
  const std::size_t tiles = Tile::tiles_of(s.length), width = width_of_diagonals<Tile>(s);
  float sum = 0;
  for (std::size_t sample = 0; sample < s.samples; ++sample) {
    for (std::size_t number = 0; number < tiles; ++number) {
      // Columns count from the sample's last query on, diagonals from the tile's last one.
      const std::size_t shifted = column + (number + 1) * Tile::tile;
      if (shifted < s.length || shifted - s.length >= width) continue;
      sum += diagonals[((sample * s.heads + head) * tiles + number) * width + shifted - s.length];
    }
  }
  bias_gradient[head * s.distances() + column] += sum / s.scale;
}

/// A tile of keys and values in shared memory, and what a thread sums up for its row of them.
template <class Tile>
struct KeyTile {
  float *queries, *gradients, *scores, *probabilities;
  const float *own, *own_value;
  RowSums<Tile> key_sums, value_sums;

  /// The queries [first, first + tile) of a head, of which those in [begin, end) see the thread's
  /// key.
  template <class T>
  __device__ void add_queries(const FlashShape& s, const FlashPlace& at, const FlashGradients<T>& g,
                              std::size_t head, std::size_t first, unsigned begin, unsigned end) {
    const float *log = g.log_sum + at.sums(s, head) + first,
                *shift = g.delta + at.sums(s, head) + first;
    sync_block();
    load_tile<Tile>(s, at.of_queries(s, g.q, head), s.length, first, queries);
    load_tile<Tile>(s, at.of_queries(s, g.dout, head), s.length, first, gradients);
    sync_block();
    for (unsigned i = at.lane; i < end; i += lanes) {
      if (i < begin) continue;
      const auto score = score_of(s, dot(own, queries + i * row_stride(s), s.head_size), head,
                                  first + i, at.first + at.row);
      const ScoreGradient of_score(score,
                                   dot(own_value, gradients + i * row_stride(s), s.head_size),
                                   s.scale, log[i], shift[i]);
      scores[i] = of_score.gradient;
      probabilities[i] = of_score.probability;
    }
    sync_warp();
    for (unsigned i = begin; i < end; ++i) {
      key_sums.add(scores[i], queries + i * row_stride(s), at.lane, s.head_size);
      value_sums.add(probabilities[i], gradients + i * row_stride(s), at.lane, s.head_size);
    }
  }
};

/// dk and dv of a tile of keys, from the queries that see them: head after head of those that share
/// the key head.
template <class T, class Tile>
__global__ void key_gradients(FlashShape s, FlashGradients<T> g) {
  const auto at = FlashPlace::of<Tile>(s.keys, s.key_heads, false);
  const std::size_t size = Tile::tile * row_stride(s), key = at.first + at.row;
  float *keys = shared_floats(), *values = keys + size, *queries = values + size,
        *gradients = queries + size;
  float* scores = gradients + size + at.row * Tile::score_stride;
  KeyTile<Tile> tile{queries,
                     gradients,
                     scores,
                     scores + Tile::tile * Tile::score_stride,
                     keys + at.row * row_stride(s),
                     values + at.row * row_stride(s),
                     {},
                     {}};
  load_tile<Tile>(s, at.of_keys(s, g.k, at.head), s.keys, at.first, keys);
  load_tile<Tile>(s, at.of_keys(s, g.v, at.head), s.keys, at.first, values);
  const std::size_t first_head = at.head * s.group > s.first ? at.head * s.group - s.first : 0;
  const std::size_t end_of_group = (at.head + 1) * s.group - s.first;
  const std::size_t last_head = end_of_group < s.heads ? end_of_group : s.heads;
  // Queries from these on see no key of the tile, or not the thread's.
  const std::size_t end_of_tile =
      end_of_seeing(s, at.sample, s.causal ? at.first + Tile::tile - 1 : at.first);
  const std::size_t end_of_key = end_of_seeing(s, at.sample, key);
  for (std::size_t head = first_head; head < last_head; ++head) {
    for (std::size_t first = s.causal ? at.first : 0; first < end_of_tile; first += Tile::tile) {
      const std::size_t last = end_of_key > first ? end_of_key - first : 0;
      const auto begin = static_cast<unsigned>(s.causal && key > first ? key - first : 0);
      tile.add_queries(s, at, g, head, first, begin,
                       last < Tile::tile ? static_cast<unsigned>(last) : Tile::tile);
    }
  }
  if (key >= s.keys) return;
  tile.key_sums.write(at.of_keys(s, g.dk, at.head).row(key), 1.0f, at.lane, s.head_size);
  tile.value_sums.write(at.of_keys(s, g.dv, at.head).row(key), 1.0f, at.lane, s.head_size);
}

}  // namespace

void flash_backward(ComputeStream& stream, const FlashShape& shape,
                    const AttentionBackwardCall& call, const FlashScratch& scratch) {
  for_type_and_tile(call.q.type, shape, [&](auto element, auto tile) {
    using T = decltype(element);
    using Tile = decltype(tile);
    const FlashGradients<T> matrices{kernels::read_rows<T>(call.q),
                                     kernels::read_rows<T>(call.k),
                                     kernels::read_rows<T>(call.v),
                                     kernels::read_rows<T>(call.out),
                                     kernels::read_rows<T>(call.dout),
                                     kernels::write_rows<T>(call.dq),
                                     kernels::write_rows<T>(call.dk),
                                     kernels::write_rows<T>(call.dv),
                                     call.log_sum,
                                     scratch.delta,
                                     scratch.diagonals};
    launch_flash<Tile>(stream, shape, shape.length, shape.heads, 4, 1, query_gradients<T, Tile>,
                       shape, matrices);
    launch_flash<Tile>(stream, shape, shape.keys, shape.key_heads, 4, 2, key_gradients<T, Tile>,
                       shape, matrices);
  });
}

std::size_t diagonal_sums(const FlashShape& shape) {
  std::size_t floats = 0;
  for_type_and_tile(DType::f32, shape, [&](auto /*element*/, auto tile) {
    using Tile = decltype(tile);
    floats = shape.samples * shape.heads * Tile::tiles_of(shape.length) *
             width_of_diagonals<Tile>(shape);
  });
  return floats;
}

void add_bias_gradient(ComputeStream& stream, const FlashShape& shape, const float* diagonals,
                       float* bias_gradient) {
  constexpr unsigned threads = 256;
  const std::size_t distances = shape.distances();
  for_type_and_tile(DType::f32, shape, [&](auto /*element*/, auto tile) {
    using Tile = decltype(tile);
    launch(stream,
           dim3(static_cast<unsigned>((distances + threads - 1) / threads),
                static_cast<unsigned>(shape.heads)),
           threads, 0, sum_diagonals<Tile>, shape, diagonals, bias_gradient);
  });
}

}  // namespace pptrain::cuda
