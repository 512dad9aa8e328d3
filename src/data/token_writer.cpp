#include "data/token_writer.hpp"

#include <fmt/format.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <limits>

#include "base/error.hpp"
#include "base/files.hpp"
#include "data/token_file.hpp"

namespace pptrain {
namespace {

/// Where the tokens go in the end. What is there and no file, as /dev/null, is refused.
std::string target_of(const std::string& path) {
  const std::optional<std::string> target = replaced_file(path);
  if (!target)
    throw_bad_input({path, "the file cannot be written", "something else than a file has this name", "name a file"});
  return *target;
}

}  // namespace

AtomicFile::AtomicFile(const std::string& path)
    : path_(target_of(path)), partial_(path_ + ".partial"), stream_(partial_, std::ios::binary | std::ios::trunc) {
  if (stream_) return;
  throw_bad_input(
      {path, "the file cannot be written", std::strerror(errno), "name a file in a folder you can write to"});
}

AtomicFile::~AtomicFile() {
  if (committed_) return;
  stream_.close();
  std::error_code ignored;
  std::filesystem::remove(partial_, ignored);
}

void AtomicFile::write(std::span<const std::byte> bytes) {
  stream_.write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
}

void AtomicFile::rewrite_start(std::span<const std::byte> bytes) {
  stream_.seekp(0);
  write(bytes);
}

void AtomicFile::commit() {
  stream_.close();
  if (!stream_) throw_runtime_failure({path_, "the file could not be written to its end", "is the disk full?", ""});
  std::error_code error;
  std::filesystem::rename(partial_, path_, error);
  if (error) throw_bad_input({path_, "the file cannot be put in its place", error.message(), ""});
  committed_ = true;
}

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
