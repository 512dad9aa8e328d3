#include "data/token_writer.hpp"

#include <fmt/format.h>

#include <array>
#include <limits>

#include "base/error.hpp"
#include "data/token_file.hpp"

namespace pptrain {
TokenWriter::TokenWriter(const std::string& path) : path_(path), file_(path) {
  const std::array<std::byte, token_file_header_bytes> room = {};
  file_.write(room);
}

void TokenWriter::append(std::span<const std::uint16_t> tokens) {
  file_.write(std::as_bytes(tokens));
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
  const std::array<std::int32_t, 3> words = {token_file_magic, token_file_version,
                                             static_cast<std::int32_t>(num_tokens_)};
  file_.rewrite_start(std::as_bytes(std::span(words)));
}

}  // namespace pptrain
