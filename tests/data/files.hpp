#pragma once

#include <unistd.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

namespace pptrain {

/// A folder for the files of one test, removed at its end.
class TestFolder {
 public:
  explicit TestFolder(const std::string& name)
      : folder_(std::filesystem::temp_directory_path() /
                ("pptrain_test_" + name + "_" + std::to_string(::getpid()))) {
    std::filesystem::create_directories(folder_);
  }
  ~TestFolder() { std::filesystem::remove_all(folder_); }
  TestFolder(const TestFolder&) = delete;
  TestFolder& operator=(const TestFolder&) = delete;

  std::string path(const std::string& name) const { return (folder_ / name).string(); }

  std::string write(const std::string& name, const std::string& content) const {
    std::ofstream(path(name), std::ios::binary) << content;
    return path(name);
  }

  /// A token file with header.
  std::string write_tokens(const std::string& name,
                           const std::vector<std::uint16_t>& tokens) const {
    return write(name, token_header(20240520, 1, tokens.size()) + bytes_of(tokens));
  }
  std::string write_wide_tokens(const std::string& name,
                                const std::vector<std::uint32_t>& tokens) const {
    return write(name, token_header(20240801, 7, tokens.size()) + bytes_of(tokens));
  }

  /// The index of a dataset of Megatron-LM.
  struct Index {
    std::string magic = std::string("MMIDIDX\0\0", 9);
    std::uint64_t version = 1;
    std::uint8_t code = 8;  ///< 16-bit tokens
    std::vector<std::int32_t> lengths;
    std::vector<std::int64_t> offsets;
    std::vector<std::int64_t> documents;
  };

  /// As Megatron-LM writes it: sequences of `lengths` tokens of `width` bytes one behind the other.
  static Index index_of(std::uint8_t code, std::int64_t width, std::vector<std::int32_t> lengths,
                        std::vector<std::int64_t> documents) {
    Index index;
    index.code = code;
    std::int64_t offset = 0;
    for (const std::int32_t length : lengths) {
      index.offsets.push_back(offset);
      offset += width * length;
    }
    index.lengths = std::move(lengths);
    index.documents = std::move(documents);
    return index;
  }

  static std::string bytes_of(const Index& index) {
    return index.magic + bytes_of(std::vector{index.version}) + static_cast<char>(index.code) +
           bytes_of(std::vector<std::uint64_t>{index.lengths.size(), index.documents.size()}) +
           bytes_of(index.lengths) + bytes_of(index.offsets) + bytes_of(index.documents);
  }

  static std::string token_header(std::int32_t magic, std::int32_t version, std::size_t count) {
    std::vector<std::int32_t> header(256, 0);
    header[0] = magic;
    header[1] = version;
    header[2] = static_cast<std::int32_t>(count);
    return bytes_of(header);
  }

  template <class T>
  static std::string bytes_of(const std::vector<T>& values) {
    return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T)};
  }

 private:
  std::filesystem::path folder_;
};

}  // namespace pptrain
