#include <string_view>

#include "fuzz.hpp"
#include "text/chunk.hpp"
#include "text/utf8.hpp"

using namespace pptrain;

namespace {

/// A tokenizer that was read has to encode any text, the same whether it remembers words or not, in
/// chunks or not, and into tokens of its vocabulary that decode to UTF-8.
void check_encoding(const Tokenizer& tokenizer, std::string_view bytes) {
  const std::vector<std::uint32_t> tokens = tokenizer.encode(bytes);
  for (const std::uint32_t token : tokens)
    PPTRAIN_ASSERT(token < tokenizer.vocabulary_size(), "token {} of {}", token,
                   tokenizer.vocabulary_size());
  TextEncoder encoder(tokenizer);
  for (int i = 0; i < 2; ++i) {
    std::vector<std::uint32_t> again;
    encoder.append(bytes, again);
    PPTRAIN_ASSERT(again == tokens, "{} and {} tokens", again.size(), tokens.size());
  }
  PPTRAIN_ASSERT(is_utf8(tokenizer.decode(tokens)), "{} tokens are no text", tokens.size());
  static_cast<void>(tokenizer.decode(tokens, SpecialTokens::left_out));
  const std::string text = repaired_utf8(bytes).text;
  std::vector<std::uint32_t> parts;
  for (TextChunk chunk; chunk.end < text.size();) {
    chunk = next_chunk(text, chunk, 8, encoder);
    append_chunk(text, chunk, encoder, parts);
  }
}

/// A text so long that what takes a time quadratic in it, or makes it ever longer, is found by the
/// fuzzer's limits.
void check_long_text(const Tokenizer& tokenizer, std::string_view part) {
  constexpr std::size_t wanted = 16'384;
  std::string text;
  while (!part.empty() && text.size() < wanted) text += part;
  const std::vector<std::uint32_t> tokens = tokenizer.encode(text);
  static_cast<void>(tokenizer.decode(tokens));
}

}  // namespace

/// The file, a byte 0, and a text to encode.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string input = text_of(data, size);
  const std::size_t end = std::min(input.find('\0'), input.size());
  try {
    const Tokenizer tokenizer = Tokenizer::parse(input.substr(0, end), "fuzzed");
    const std::string_view text = std::string_view(input).substr(std::min(end + 1, input.size()));
    check_encoding(tokenizer, text);
    check_long_text(tokenizer, text);
  } catch (const Error& error) {
    PPTRAIN_ASSERT(error.code() == ExitCode::bad_input, "{}", error.what());
  }
  return 0;
}
