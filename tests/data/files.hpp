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
      : folder_(std::filesystem::temp_directory_path() / ("pptrain_test_" + name + "_" + std::to_string(::getpid()))) {
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
  std::string write_tokens(const std::string& name, const std::vector<std::uint16_t>& tokens) const {
    return write(name, token_header(20240520, 1, tokens.size()) + bytes_of(tokens));
  }
  std::string write_wide_tokens(const std::string& name, const std::vector<std::uint32_t>& tokens) const {
    return write(name, token_header(20240801, 7, tokens.size()) + bytes_of(tokens));
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
