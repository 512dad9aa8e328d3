#include "data/token_type.hpp"

#include <bit>
#include <cstring>
#include <limits>

#include "base/error.hpp"

namespace pptrain {
namespace {

static_assert(std::endian::native == std::endian::little,
              "tokens are little-endian and read as they are");

template <class T>
T stored_token(const std::byte* from, std::int64_t index) {
  T value = 0;
  std::memcpy(&value, from + static_cast<std::size_t>(index) * sizeof(T), sizeof(T));
  return value;
}

/// Calls `work` with a number of the type that stores a token.
template <class Work>
auto with_type(TokenType type, const Work& work) {
  switch (type) {
    case TokenType::uint8: return work(std::uint8_t{});
    case TokenType::int8: return work(std::int8_t{});
    case TokenType::int16: return work(std::int16_t{});
    case TokenType::int32: return work(std::int32_t{});
    case TokenType::int64: return work(std::int64_t{});
    case TokenType::uint16: return work(std::uint16_t{});
    case TokenType::uint32: break;
  }
  return work(std::uint32_t{});
}

}  // namespace

std::size_t bytes_of(TokenType type) {
  return with_type(type, [](auto number) { return sizeof number; });
}

bool holds_only_tokens(TokenType type, std::int64_t vocabulary_size) {
  return with_type(type, [=](auto number) {
    using Limits = std::numeric_limits<decltype(number)>;
    return !Limits::is_signed && static_cast<std::int64_t>(Limits::max()) < vocabulary_size;
  });
}

void widen_tokens(TokenType type, const std::byte* from, std::int64_t count, std::uint32_t* out) {
  with_type(type, [=](auto number) {
    for (std::int64_t i = 0; i < count; ++i) {
      const auto value = static_cast<std::int64_t>(stored_token<decltype(number)>(from, i));
      out[i] = 0 <= value && value < no_stored_token ? static_cast<std::uint32_t>(value)
                                                     : no_stored_token;
    }
  });
}

ForeignToken first_foreign_token(TokenType type, const std::byte* from, std::int64_t count,
                                 std::int64_t vocabulary_size) {
  return with_type(type, [=](auto number) -> ForeignToken {
    for (std::int64_t i = 0; i < count; ++i) {
      const auto value = static_cast<std::int64_t>(stored_token<decltype(number)>(from, i));
      if (value < 0 || value >= vocabulary_size) return {i, value};
    }
    return {count, 0};
  });
}

}  // namespace pptrain
