#include "data/document_writer.hpp"

#include <fmt/format.h>

#include <array>
#include <filesystem>
#include <limits>

#include "base/error.hpp"

namespace pptrain {
namespace {

// Megatron-LM's codes of types.
constexpr std::uint8_t code_of_int32 = 4;
constexpr std::uint8_t code_of_uint16 = 8;

std::string index_path_of(const std::string& path, TokenLayout layout) {
  if (layout == TokenLayout::header) return "";
  if (!path.ends_with(".bin"))
    throw_bad_input({"-o " + path, "it does not end in .bin",
                     "an indexed dataset is a pair NAME.bin and NAME.idx",
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

DocumentWriter::DocumentWriter(const std::string& path, std::int64_t vocabulary_size,
                               std::uint64_t tokenizer, TokenLayout layout)
    : path_(path), index_path_(index_path_of(path, layout)), tokens_(path, layout) {
  tokens_.set_vocabulary(vocabulary_size, tokenizer);
  if (layout == TokenLayout::indexed) index_.emplace(index_path_);
}

void DocumentWriter::end_document() {
  if (num_tokens() > document_begin_) lengths_.push_back(num_tokens() - document_begin_);
  document_begin_ = num_tokens();
}

void DocumentWriter::commit() {
  if (index_) write_index();
  tokens_.commit();
  if (index_) index_->commit();
}

void DocumentWriter::write_index() {
  constexpr std::array<char, 9> magic = {'M', 'M', 'I', 'D', 'I', 'D', 'X', '\0', '\0'};
  write_values(*index_, std::span<const char>(magic));
  write_value(*index_, std::uint64_t{1});  // version
  write_value(*index_, tokens_.is_wide() ? code_of_int32 : code_of_uint16);
  write_value(*index_, std::uint64_t{lengths_.size()});
  write_value(*index_, std::uint64_t{lengths_.size() + 1});
  for (const std::int64_t length : lengths_) {
    if (length > std::numeric_limits<std::int32_t>::max())
      throw_bad_input({path_, fmt::format("a document has {} tokens", length),
                       "the index counts them in 32 bits",
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
