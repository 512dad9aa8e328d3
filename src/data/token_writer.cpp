#include "data/token_writer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <vector>

#include "base/error.hpp"

namespace pptrain {

TokenWriter::TokenWriter(const std::string& path) : path_(path), file_(path) {
  const std::array<std::byte, token_file_header_bytes> room = {};
  file_.write(room);
}

void TokenWriter::set_vocabulary(std::int64_t vocabulary_size) {
  PPTRAIN_ASSERT(num_tokens_ == 0, "{} tokens were written before", num_tokens_);
  format_ = token_file_format(vocabulary_size);
}

void TokenWriter::append(std::span<const std::uint32_t> tokens) {
  if (format_.type == TokenType::uint32) {
    file_.write(std::as_bytes(tokens));
  } else {
    std::vector<std::uint16_t> narrow(tokens.size());
    std::transform(tokens.begin(), tokens.end(), narrow.begin(),
                   [](std::uint32_t token) { return static_cast<std::uint16_t>(token); });
    file_.write(std::as_bytes(std::span(narrow)));
  }
  num_tokens_ += static_cast<std::int64_t>(tokens.size());
}

void TokenWriter::commit() {
  write_header();
  file_.commit();
}

void TokenWriter::write_header() {
  if (num_tokens_ > std::numeric_limits<std::int32_t>::max()) {
    throw_bad_input({path_, fmt::format("{} tokens are too many for one file", num_tokens_),
                     "the header counts them in 32 bits",
                     "tokenize the text in parts and give [data] train a list of files"});
  }
  const std::array<std::int32_t, 3> words = {format_.magic, format_.version, static_cast<std::int32_t>(num_tokens_)};
  file_.rewrite_start(std::as_bytes(std::span(words)));
}

}  // namespace pptrain
