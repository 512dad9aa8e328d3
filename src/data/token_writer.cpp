#include "data/token_writer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>

#include "base/error.hpp"

namespace pptrain {
namespace {

/// Megatron-LM's limit, which leaves room below 2^16.
constexpr std::int64_t least_wide_indexed = 65500;

const TokenFileFormat& format_of(std::int64_t vocabulary_size, TokenLayout layout) {
  const bool is_wide = layout == TokenLayout::indexed && vocabulary_size >= least_wide_indexed;
  return is_wide ? wide_token_file : token_file_format(vocabulary_size);
}

}  // namespace

TokenWriter::TokenWriter(const std::string& path, TokenLayout layout)
    : path_(path), layout_(layout), file_(path) {
  constexpr std::array<std::byte, token_file_header_bytes> room = {};
  if (layout_ == TokenLayout::header) file_.write(room);
}

void TokenWriter::set_vocabulary(std::int64_t vocabulary_size, std::uint64_t tokenizer) {
  PPTRAIN_ASSERT(num_tokens_ == 0, "{} tokens were written before", num_tokens_);
  format_ = format_of(vocabulary_size, layout_);
  tokenizer_ = tokenizer;
}

void TokenWriter::append(std::span<const std::uint32_t> tokens) {
  if (is_wide()) {
    file_.write(std::as_bytes(tokens));
  } else {
    narrow_.resize(tokens.size());
    std::transform(tokens.begin(), tokens.end(), narrow_.begin(),
                   [](std::uint32_t token) { return static_cast<std::uint16_t>(token); });
    file_.write(std::as_bytes(std::span(narrow_)));
  }
  num_tokens_ += static_cast<std::int64_t>(tokens.size());
}

void TokenWriter::commit() {
  if (layout_ == TokenLayout::header) write_header();
  file_.commit();
}

void TokenWriter::write_header() {
  if (num_tokens_ > std::numeric_limits<std::int32_t>::max()) {
    throw_bad_input({path_, fmt::format("{} tokens are too many for one file", num_tokens_),
                     "the header counts them in 32 bits",
                     "tokenize the text in parts and give [data] train a list of files, or use "
                     "--megatron with --tokenizer"});
  }
  const std::array<std::int32_t, 6> words = {format_.magic,
                                             format_.version,
                                             static_cast<std::int32_t>(num_tokens_),
                                             token_origin_mark,
                                             static_cast<std::int32_t>(tokenizer_ & 0xFFFFFFFFU),
                                             static_cast<std::int32_t>(tokenizer_ >> 32U)};
  file_.rewrite_start(std::as_bytes(std::span(words)));
}

}  // namespace pptrain
