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
    std::vector<std::int32_t> header(256, 0);
    header[0] = 20240520;
    header[1] = 1;
    header[2] = static_cast<std::int32_t>(tokens.size());
    std::string content(reinterpret_cast<const char*>(header.data()), 1024);
    content.append(reinterpret_cast<const char*>(tokens.data()), tokens.size() * 2);
    return write(name, content);
  }

 private:
  std::filesystem::path folder_;
};

}  // namespace pptrain
