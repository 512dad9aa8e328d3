#pragma once

#include "cuda/flash_attention.hpp"
#include "cuda/team.hpp"
#include "kernels/bodies/math.hpp"
#include "kernels/bodies/row_team.hpp"

/// What the kernels of flash attention share. A block has one tile of queries or keys of one head
/// of one sample, and `lanes` threads for each of its rows. C++17.
namespace pptrain::cuda {

constexpr unsigned lanes = 8;  // a row's threads lie in one warp
constexpr float minus_infinity = -__builtin_huge_valf();

/// Sizes of a block's work: `tile` rows, and `chunks` elements of a head per thread.
template <int tile_rows, int elements>
struct FlashTile {
  static constexpr unsigned tile = tile_rows, threads = tile_rows * lanes;
  static constexpr unsigned chunks = elements, columns_per_lane = tile_rows / lanes;
  /// Rows of a tile of scores; one more than a tile, so that the rows begin in different banks.
  static constexpr unsigned score_stride = tile_rows + 1;
  /// Diagonals of a tile of scores: keys minus queries.
  static constexpr unsigned diagonals = 2 * tile_rows - 1;

  PPTRAIN_FUNCTION static std::size_t tiles_of(std::size_t rows) {
    return (rows + tile - 1) / tile;
  }

  /// Shared memory of a block that has some tiles of rows of a head and some of scores.
  static constexpr std::size_t bytes(std::size_t head_size, std::size_t row_tiles,
                                     std::size_t score_tiles) {
    return tile * sizeof(float) * (row_tiles * (head_size + 1) + score_tiles * score_stride);
  }
  /// The most that a block of any kernel needs, that for gradients of keys.
  static constexpr std::size_t most_bytes(std::size_t head_size) { return bytes(head_size, 4, 2); }
};

/// Combines the values of all threads of a row; each of them gets the same result.
template <class Combine>
__device__ float combine_row(float value, const Combine& combine) {
  for (unsigned step = lanes / 2; step > 0; step /= 2) {
    value = combine(value, from_lane_xor(value, static_cast<int>(step)));
  }
  return value;
}

/// The tile of rows that a block has, of one head of one sample, and the row and lane of its
/// thread.
struct FlashPlace {
  std::size_t first, sample, head;  ///< first row of the tile, of those of the sample
  unsigned row, lane;

  /// The place of this block among the tiles of samples with `rows` rows.
  template <class Tile>
  __device__ static FlashPlace of(std::size_t rows, std::size_t heads, bool longest_first) {
    const std::size_t tiles = Tile::tiles_of(rows), block = blockIdx.x, number = block % tiles;
    return {(longest_first ? tiles - 1 - number : number) * Tile::tile, block / tiles / heads,
            block / tiles % heads, threadIdx.x / lanes, threadIdx.x % lanes};
  }

  /// The index in log_sum and delta, which have a number for each query, of the first number of a
  /// query head.
  __device__ std::size_t sums(const FlashShape& s, std::size_t query_head) const {
    return (sample * s.heads + query_head) * s.length;
  }
  /// A head's columns of a matrix of heads, from the sample's first query on.
  template <class T>
  __device__ kernels::Rows<T> of_queries(const FlashShape& s, const kernels::Rows<T>& matrix,
                                         std::size_t number) const {
    return {matrix.row(sample * s.length) + number * s.head_size, matrix.stride};
  }
  /// A head's columns of a matrix of heads, from the sample's first key on.
  template <class T>
  __device__ kernels::Rows<T> of_keys(const FlashShape& s, const kernels::Rows<T>& matrix,
                                      std::size_t number) const {
    return {matrix.row(sample * s.keys) + number * s.head_size, matrix.stride};
  }
};

/// The first key that a query of a sample sees; of those behind the last query, which tiles are
/// filled with, any.
__device__ inline std::size_t first_seen(const FlashShape& s, std::size_t sample,
                                         std::size_t query) {
  const std::size_t of_window = s.window == 0 || query < s.window ? 0 : query + 1 - s.window;
  if (s.document_begin == nullptr || query >= s.length) return of_window;
  const auto of_document = static_cast<std::size_t>(s.document_begin[sample * s.length + query]);
  return of_document > of_window ? of_document : of_window;
}

/// Keys of a sample that some query sees.
__device__ inline std::size_t keys_of_sample(const FlashShape& s, std::size_t sample) {
  return s.seen_keys == nullptr ? s.keys : static_cast<std::size_t>(s.seen_keys[sample]);
}
/// The key before which all tiles of a sample's `keys` begin that a tile of queries from
/// `first_query` on sees.
__device__ inline std::size_t end_of_keys(const FlashShape& s, std::size_t keys,
                                          std::size_t first_query) {
  return s.causal ? first_query + 1 : keys;
}
/// How many of the sample's `keys` from `first` on, at most a tile, a query sees.
template <class Tile>
__device__ unsigned visible_keys(const FlashShape& s, std::size_t keys, std::size_t query,
                                 std::size_t first) {
  const std::size_t seen = (s.causal ? query + 1 : keys) - first;
  return seen < Tile::tile ? static_cast<unsigned>(seen) : Tile::tile;
}

/// Floats of one tile of queries for its diagonals against all tiles of keys.
template <class Tile>
PPTRAIN_FUNCTION std::size_t width_of_diagonals(const FlashShape& s) {
  return (Tile::tiles_of(s.keys) + 1) * Tile::tile - 1;
}

/// What is added to the scaled score of a key of a query; 0 for queries behind the last, which fill
/// up tiles.
__device__ inline float bias_of(const FlashShape& s, std::size_t head, std::size_t query,
                                std::size_t key) {
  if (s.bias == nullptr || query >= s.length) return 0.0f;
  return s.bias[head * s.distances() + key + s.length - 1 - query];
}

/// The score of a key of a query from the product of both: scaled, and held within a cap or with a
/// bias added; and the derivative by the scaled product.
__device__ inline kernels::ValueWithDerivative score_of(const FlashShape& s, float product,
                                                        std::size_t head, std::size_t query,
                                                        std::size_t key) {
  if (s.cap > 0.0f) return kernels::soft_cap(s.scale * product, s.cap);
  return {s.scale * product + bias_of(s, head, query, key), 1.0f};
}

/// The first query behind a key of a sample that does not see it, the sample's length where all do,
/// 0 where none does.
__device__ inline std::size_t end_of_seeing(const FlashShape& s, std::size_t sample,
                                            std::size_t key) {
  if (!s.causal) return key < keys_of_sample(s, sample) ? s.length : 0;
  std::size_t end = s.window == 0 || s.length < key + s.window ? s.length : key + s.window;
  if (s.document_begin == nullptr || key >= s.length) return end;
  const std::int32_t* begins = s.document_begin + sample * s.length;
  std::size_t sees = key;  // begins do not decrease: all queries up to this one see the key, none
                           // from `end` on does
  while (end - sees > 1) {
    const std::size_t middle = sees + (end - sees) / 2;
    if (static_cast<std::size_t>(begins[middle]) <= key) {
      sees = middle;
    } else {
      end = middle;
    }
  }
  return end;
}

/// Elements from one row of a head in shared memory to the next: one more than a head, for the
/// banks.
__device__ inline std::size_t row_stride(const FlashShape& s) { return s.head_size + 1; }

/// Copies rows [first, first + tile) of a head to shared memory, zeros behind the last of `count`.
template <class Tile, class T>
__device__ void load_tile(const FlashShape& s, const kernels::Rows<const T>& rows,
                          std::size_t count, std::size_t first, float* to) {
  const auto head_size = static_cast<unsigned>(s.head_size);  // 64-bit divisions are slow
  for (unsigned i = threadIdx.x; i < Tile::tile * head_size; i += Tile::threads) {
    const unsigned row = i / head_size, column = i % head_size;
    to[row * (head_size + 1) + column] =
        first + row < count ? static_cast<float>(rows.row(first + row)[column]) : 0.0f;
  }
}

__device__ inline float dot(const float* a, const float* b, std::size_t n) {
  float sum = 0;
  for (std::size_t i = 0; i < n; ++i) sum += a[i] * b[i];
  return sum;
}

/// A row of a head, its elements spread over the lanes.
template <class Tile>
struct RowSums {
  float values[Tile::chunks] = {};

  /// Multiplies the row by `factor`.
  __device__ void scale(float factor) {
    for (unsigned c = 0; c < Tile::chunks; ++c) values[c] *= factor;
  }
  /// += factor * row, `row` in shared memory.
  __device__ void add(float factor, const float* row, unsigned lane, std::size_t head_size) {
    for (unsigned c = 0; c < Tile::chunks; ++c) {
      if (lane + c * lanes < head_size) values[c] += factor * row[lane + c * lanes];
    }
  }
  template <class T>
  __device__ void write(T* row, float factor, unsigned lane, std::size_t head_size) const {
    for (unsigned c = 0; c < Tile::chunks; ++c) {
      if (lane + c * lanes < head_size) store(row[lane + c * lanes], values[c] * factor);
    }
  }
};

}  // namespace pptrain::cuda
