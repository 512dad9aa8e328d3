#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/bodies/row_team.hpp"
#include "kernels/bodies/typed_rows.hpp"
#include "kernels/embeddings.hpp"

namespace pptrain::kernels::bodies {

struct EmbeddingForward {
  const std::uint32_t* tokens;
  std::size_t sequence_length;
  Rows<const float> token_embedding;
  std::int64_t first_token, num_tokens;
  Rows<const float> position_embedding;  // data null: another shard adds it
  Rows<float> x;
  std::size_t columns;

  template <class Team>
  PPTRAIN_FUNCTION void operator()(const Team& team, std::size_t row) const {
    const std::int64_t token = static_cast<std::int64_t>(tokens[row]) - first_token;
    const bool mine = token >= 0 && token < num_tokens;
    const float* word = mine ? token_embedding.row(static_cast<std::size_t>(token)) : nullptr;
    const float* place = position_embedding.data != nullptr
                             ? position_embedding.row(row % sequence_length)
                             : nullptr;
    float* to = x.row(row);
    if (word != nullptr && place != nullptr) {
      team.for_each(columns, [=](std::size_t c) { to[c] = word[c] + place[c]; });
    } else if (word != nullptr || place != nullptr) {
      const float* only = word != nullptr ? word : place;
      team.for_each(columns, [=](std::size_t c) { to[c] = only[c]; });
    } else {
      team.for_each(columns, [=](std::size_t c) { to[c] = 0.0f; });
    }
  }
};

/// The body of a forward pass; positions are those of `position_embedding` where `add_position`.
inline EmbeddingForward embedding_forward_body(const EmbeddingTokens& of,
                                               const Matrix& token_embedding,
                                               const Matrix& position_embedding, bool add_position,
                                               const Matrix& x) {
  return {of.tokens,
          of.sequence_length,
          read_rows<float>(token_embedding),
          of.first_token,
          static_cast<std::int64_t>(token_embedding.rows),
          read_rows<float>(add_position ? position_embedding : Matrix()),
          write_rows<float>(x),
          x.columns};
}

/// Adds columns [first, first + count) of all rows, in order, to the gradients of both embeddings.
struct EmbeddingBackward {
  const std::uint32_t* tokens;
  std::size_t rows, sequence_length;
  Rows<const float> dx;
  std::int64_t first_token, num_tokens;
  Rows<float> dtoken_embedding, dposition_embedding;  // data of the second may be null

  template <class Team>
  PPTRAIN_FUNCTION void operator()(const Team& team, std::size_t first, std::size_t count) const {
    for (std::size_t row = 0; row < rows; ++row) {
      const float* d = dx.row(row) + first;
      const std::int64_t token = static_cast<std::int64_t>(tokens[row]) - first_token;
      if (token >= 0 && token < num_tokens) {
        float* word = dtoken_embedding.row(static_cast<std::size_t>(token)) + first;
        team.for_each(count, [=](std::size_t c) { word[c] += d[c]; });
      }
      if (dposition_embedding.data != nullptr) {
        float* place = dposition_embedding.row(row % sequence_length) + first;
        team.for_each(count, [=](std::size_t c) { place[c] += d[c]; });
      }
    }
  }
};

}  // namespace pptrain::kernels::bodies
