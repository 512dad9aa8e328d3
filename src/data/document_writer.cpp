#include "data/document_writer.hpp"

#include <fmt/format.h>

#include <array>
#include <filesystem>
#include <limits>

#include "base/error.hpp"
#include "data/token_file.hpp"

namespace pptrain {
namespace {

// Magic numbers and versions of llm.c's headers.
constexpr std::array<std::int32_t, 2> narrow_header = {20240520, 1};
constexpr std::array<std::int32_t, 2> wide_header = {20240801, 7};

// Megatron-LM's limit, which leaves room below 2^16; and its codes of types.
constexpr std::int64_t least_wide_indexed = 65500;
constexpr std::uint8_t code_of_int32 = 4;
constexpr std::uint8_t code_of_uint16 = 8;

bool is_wide(std::int64_t vocabulary_size, TokenLayout layout) {
  return layout == TokenLayout::indexed ? vocabulary_size >= least_wide_indexed : vocabulary_size > 65536;
}

std::string index_path_of(const std::string& path, TokenLayout layout) {
  if (layout == TokenLayout::header) return "";
  if (!path.ends_with(".bin"))
    throw_bad_input({"-o " + path, "it does not end in .bin", "an indexed dataset is a pair NAME.bin and NAME.idx",
                     "name a file that does"});
  return std::filesystem::path(path).replace_extension(".idx").string();
}

template <class T>
void write_values(AtomicFile& file, std::span<const T> values) {
  file.write(std::as_bytes(values));
}

template <class T>
void write_value(AtomicFile& file, T value) {
  write_values(file, std::span<const T>(&value, 1));
}

}  // namespace

DocumentWriter::DocumentWriter(const std::string& path, std::int64_t vocabulary_size, TokenLayout layout)
    : path_(path), index_path_(index_path_of(path, layout)), wide_(is_wide(vocabulary_size, layout)), tokens_(path) {
  if (layout == TokenLayout::indexed) {
    index_.emplace(index_path_);
  } else {
    tokens_.write(std::array<std::byte, token_file_header_bytes>{});  // room, filled in at the end
  }
}

void DocumentWriter::append(std::span<const std::uint32_t> tokens) {
  if (wide_) {
    write_values(tokens_, tokens);
  } else {
    narrow_.assign(tokens.begin(), tokens.end());
    write_values(tokens_, std::span<const std::uint16_t>(narrow_));
  }
  num_tokens_ += static_cast<std::int64_t>(tokens.size());
}

void DocumentWriter::end_document() {
  if (num_tokens_ > document_begin_) lengths_.push_back(num_tokens_ - document_begin_);
  document_begin_ = num_tokens_;
}

void DocumentWriter::commit() {
  if (index_) {
    write_index();
  } else {
    write_header();
  }
  tokens_.commit();
  if (index_) index_->commit();
}

void DocumentWriter::write_header() {
  if (num_tokens_ > std::numeric_limits<std::int32_t>::max()) {
    throw_bad_input({path_, fmt::format("{} tokens are too many for one file", num_tokens_),
                     "the header counts them in 32 bits",
                     "tokenize the text in parts and give [data] train a list of files, or write --megatron"});
  }
  const auto [magic, version] = wide_ ? wide_header : narrow_header;
  const std::array<std::int32_t, 3> words = {magic, version, static_cast<std::int32_t>(num_tokens_)};
  tokens_.rewrite_start(std::as_bytes(std::span(words)));
}

void DocumentWriter::write_index() {
  constexpr std::array<char, 9> magic = {'M', 'M', 'I', 'D', 'I', 'D', 'X', '\0', '\0'};
  write_values(*index_, std::span<const char>(magic));
  write_value(*index_, std::uint64_t{1});  // version
  write_value(*index_, wide_ ? code_of_int32 : code_of_uint16);
  write_value(*index_, std::uint64_t{lengths_.size()});
  write_value(*index_, std::uint64_t{lengths_.size() + 1});
  for (const std::int64_t length : lengths_) {
    if (length > std::numeric_limits<std::int32_t>::max())
      throw_bad_input({path_, fmt::format("a document has {} tokens", length), "the index counts them in 32 bits",
                       "divide the document into several files"});
    write_value(*index_, static_cast<std::int32_t>(length));
  }
  std::int64_t offset = 0;
  for (const std::int64_t length : lengths_) {
    write_value(*index_, offset);
    offset += length * static_cast<std::int64_t>(token_bytes());
  }
  for (std::size_t document = 0; document <= lengths_.size(); ++document)
    write_value(*index_, static_cast<std::int64_t>(document));
}

}  // namespace pptrain
