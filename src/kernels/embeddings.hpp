#pragma once

#include <cstdint>

#include "tensor/tensor.hpp"

namespace pptrain {

/// The tokens of some samples, and which rows of the table a member has.
struct EmbeddingTokens {
  const std::uint32_t* tokens;  ///< (R)
  std::size_t sequence_length;  ///< tokens of a sample
  std::int64_t first_token;     ///< of the member's rows of the table
};

/// What tokens and positions become, and the positions that attention turns by.
class EmbeddingKernels {
 public:
  virtual ~EmbeddingKernels() = default;
  /// x = token_embedding[token] + position_embedding[position]; tokens outside [first_token,
  /// first_token + rows of the shard) contribute 0 from the token part, and the position part is
  /// added only by the shard that `add_position` names, so that the sum over shards is right.
  /// token_embedding (V_shard, H) f32; position_embedding (T, H) f32, or null data: none; x (R, H)
  /// f32.
  virtual void embedding_forward(const EmbeddingTokens& of, const Matrix& token_embedding,
                                 const Matrix& position_embedding, bool add_position,
                                 const Matrix& x) = 0;
  /// Adds to the gradients of both embeddings, row after row. dposition_embedding (T, H), or null
  /// data on the shards that do not add positions, and where there are none.
  virtual void embedding_backward(const EmbeddingTokens& of, const Matrix& dx,
                                  const Matrix& dtoken_embedding,
                                  const Matrix& dposition_embedding) = 0;

  /// Rotary positions, in place: of each head's elements (i, i + r / 2), i < r / 2, the pair is
  /// turned by the angle of its row's position, which is the row's number modulo sequence_length;
  /// elements from r on stay. x (R, heads * d) T; table (sequence_length, r) f32 with r <= d even:
  /// cosines of the r / 2 angles, then their sines. `back` turns the other way, as gradients are.
  virtual void rotate(const Matrix& x, std::size_t sequence_length, std::size_t heads,
                      const Matrix& table, bool back) = 0;
};

}  // namespace pptrain
