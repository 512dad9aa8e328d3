#include "cuda/kernels.hpp"
#include "cuda/rows.hpp"
#include "kernels/bodies/embedding.hpp"

namespace pptrain {

using namespace cuda;
using namespace kernels;

namespace {

constexpr unsigned rows_of_order = 64, members_of_order = 8, tokens_at_once = 2048;

/// order[i] = the i-th row when rows are sorted by token, equal tokens in the order of the rows.
/// What comes before a row is counted by members_of_order threads, a share of all rows each: rows^2
/// comparisons in all.
__global__ void order_rows(const std::uint32_t* tokens, unsigned rows, unsigned* order) {
  __shared__ std::uint32_t others[tokens_at_once];
  __shared__ unsigned counts[members_of_order][rows_of_order];
  const unsigned row = blockIdx.x * rows_of_order + threadIdx.x,
                 thread = threadIdx.y * rows_of_order + threadIdx.x;
  const std::uint32_t mine = row < rows ? tokens[row] : std::uint32_t{0};
  unsigned place = 0;
  for (unsigned first = 0; first < rows; first += tokens_at_once) {
    const unsigned count = rows - first < tokens_at_once ? rows - first : tokens_at_once;
    sync_block();
    for (unsigned i = thread; i < count; i += members_of_order * rows_of_order)
      others[i] = tokens[first + i];
    sync_block();
    for (unsigned i = threadIdx.y; i < count; i += members_of_order) {
      place += others[i] < mine || (others[i] == mine && first + i < row) ? 1U : 0U;
    }
  }
  counts[threadIdx.y][threadIdx.x] = place;
  sync_block();
  if (threadIdx.y != 0 || row >= rows) return;
  for (unsigned member = 1; member < members_of_order; ++member)
    place += counts[member][threadIdx.x];
  order[place] = row;
}

/// One past the last of the rows in `order` that have the token.
PPTRAIN_FUNCTION inline unsigned end_of_token(const std::uint32_t* tokens, const unsigned* order,
                                              unsigned first, unsigned rows, unsigned token) {
  unsigned low = first + 1, high = rows;
  while (low < high) {
    const unsigned middle = low + (high - low) / 2;
    if (tokens[order[middle]] == token) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

/// A block per place in the order; that of a token's first row adds all its rows, in order.
__global__ void add_token_rows(const std::uint32_t* tokens, unsigned rows, const unsigned* order,
                               Rows<const float> dx, std::int64_t first_token,
                               std::int64_t num_tokens, Rows<float> gradient, std::size_t columns) {
  const unsigned first = blockIdx.x, token = tokens[order[first]];
  if (first > 0 && tokens[order[first - 1]] == token) return;
  const std::int64_t mine = static_cast<std::int64_t>(token) - first_token;
  if (mine < 0 || mine >= num_tokens) return;
  const unsigned end = end_of_token(tokens, order, first, rows, token);
  float* word = gradient.row(static_cast<std::size_t>(mine));
  for (std::size_t c = threadIdx.x; c < columns; c += blockDim.x) {
    float sum = word[c];
    for (unsigned i = first; i < end; ++i) sum += dx.row(order[i])[c];
    word[c] = sum;
  }
}

/// A block per position: adds that position's row of all samples, in order.
__global__ void add_position_rows(std::size_t rows, std::size_t sequence_length,
                                  Rows<const float> dx, Rows<float> gradient, std::size_t columns) {
  float* place = gradient.row(blockIdx.x);
  for (std::size_t c = threadIdx.x; c < columns; c += blockDim.x) {
    float sum = place[c];
    for (std::size_t row = blockIdx.x; row < rows; row += sequence_length) sum += dx.row(row)[c];
    place[c] = sum;
  }
}

}  // namespace

void CudaKernels::embedding_forward(const EmbeddingTokens& of, const Matrix& token_embedding,
                                    const Matrix& position_embedding, bool add_position,
                                    const Matrix& x) {
  launch_rows(
      device_.stream(), x.rows, x.columns,
      bodies::embedding_forward_body(of, token_embedding, position_embedding, add_position, x));
}

void CudaKernels::embedding_backward(const EmbeddingTokens& of, const Matrix& dx,
                                     const Matrix& dtoken_embedding,
                                     const Matrix& dposition_embedding) {
  if (dx.rows == 0 || dx.columns == 0) return;
  const auto rows = static_cast<unsigned>(dx.rows);
  const auto threads = static_cast<unsigned>(
      std::min<std::size_t>(256, (dx.columns + warp_size - 1) / warp_size * warp_size));
  const auto d = read_rows<float>(dx);
  auto* order = scratch_.take<unsigned>(dx.rows);
  launch(device_.stream(), (rows + rows_of_order - 1) / rows_of_order,
         dim3(rows_of_order, members_of_order), 0, order_rows, of.tokens, rows, order);
  launch(device_.stream(), rows, threads, 0, add_token_rows, of.tokens, rows, order, d,
         of.first_token, static_cast<std::int64_t>(dtoken_embedding.rows),
         write_rows<float>(dtoken_embedding), dx.columns);
  if (dposition_embedding.data == nullptr) return;
  const std::size_t positions = std::min(of.sequence_length, dx.rows);
  launch(device_.stream(), static_cast<unsigned>(positions), threads, 0, add_position_rows, dx.rows,
         of.sequence_length, d, write_rows<float>(dposition_embedding), dx.columns);
}

}  // namespace pptrain
