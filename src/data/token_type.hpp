#pragma once

#include <cstddef>
#include <cstdint>

namespace pptrain {

/// How a file stores a token: little-endian, without padding. In memory a token has 32 bits.
enum class TokenType { uint8, uint16, uint32 };

std::size_t bytes_of(TokenType type);

/// The largest number that the type holds.
std::int64_t largest_of(TokenType type);

/// Copies `count` stored tokens to `out` (count). Their values fit 32 bits.
void widen_tokens(TokenType type, const std::byte* from, std::int64_t count, std::uint32_t* out);

/// A token that the model does not know.
struct ForeignToken {
  std::int64_t position = 0;  ///< among those that were looked at
  std::int64_t value = 0;
};

/// The first of `count` stored tokens outside [0, vocabulary_size); at position `count` where there is none.
ForeignToken first_foreign_token(TokenType type, const std::byte* from, std::int64_t count,
                                 std::int64_t vocabulary_size);

}  // namespace pptrain
