#pragma once

#include <cstdint>
#include <string>

namespace pptrain {

/// The token that ends a document where a vocabulary of bytes has 257 tokens: its text in
/// `byte_tokenizer_json`.
inline constexpr const char* byte_document_end = "<|endoftext|>";

/// The text of a tokenizer.json for models whose tokens are the bytes of text
/// (`is_byte_vocabulary`): token i is the byte i, and 256, where `vocabulary_size` is 257, ends a
/// document. Readers of the format make bytes of text by it.
std::string byte_tokenizer_json(std::int64_t vocabulary_size);

}  // namespace pptrain
