#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "text/tokenizer.hpp"

namespace pptrain {

/// A part [begin, end) of a text that is encoded apart from the rest, behind some text [context,
/// begin) before it.
struct TextChunk {
  std::size_t context = 0;
  std::size_t begin = 0;
  std::size_t end = 0;
  std::size_t next_context = 0;  ///< of the chunk that begins at `end`
};

/// The chunk of a text that begins where `previous` ends (at the start: `TextChunk()`), of `wanted`
/// bytes or more, or to the end of the text.
///
/// A chunk ends behind a line, where the tokens around are the same whether they are encoded
/// together or apart; that is tried with some lines on both sides, two different numbers of lines
/// before. Where a text has no such place, as one without line ends, the chunk goes on. The cuts
/// depend on the text and the tokenizer alone.
TextChunk next_chunk(std::string_view text, const TextChunk& previous, std::size_t wanted,
                     TextEncoder& encoder);

/// Appends the tokens of a chunk; those of all chunks of a text are the tokens of the text.
void append_chunk(std::string_view text, const TextChunk& chunk, TextEncoder& encoder,
                  std::vector<std::uint32_t>& tokens);

}  // namespace pptrain
