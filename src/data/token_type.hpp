#pragma once

#include <cstddef>
#include <cstdint>

namespace pptrain {

/// How a file stores a token: little-endian, without padding. In memory a token has 32 bits.
enum class TokenType { uint8, int8, int16, int32, int64, uint16, uint32 };

std::size_t bytes_of(TokenType type);

/// Whether bytes may be the tokens of a vocabulary: it is theirs, or has one token more, for the
/// end of a document.
constexpr bool is_byte_vocabulary(std::int64_t vocabulary_size) {
  return vocabulary_size == 256 || vocabulary_size == 257;
}

/// Whether every number of the type is in [0, vocabulary_size).
bool holds_only_tokens(TokenType type, std::int64_t vocabulary_size);

/// Copies `count` stored tokens to `out` (count); those that are negative or do not fit 32 bits
/// become `no_stored_token`, which is outside of every vocabulary.
inline constexpr std::uint32_t no_stored_token = 0xFFFFFFFF;
void widen_tokens(TokenType type, const std::byte* from, std::int64_t count, std::uint32_t* out);

/// A token that the model does not know.
struct ForeignToken {
  std::int64_t position = 0;  ///< among those that were looked at
  std::int64_t value = 0;
};

/// The first of `count` stored tokens outside [0, vocabulary_size); at position `count` where there
/// is none.
ForeignToken first_foreign_token(TokenType type, const std::byte* from, std::int64_t count,
                                 std::int64_t vocabulary_size);

}  // namespace pptrain
