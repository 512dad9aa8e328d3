// Files of tokens that are written while they are read.
#include <chrono>
#include <filesystem>
#include <fstream>

#include "base/error.hpp"
#include "data/files.hpp"
#include "data/token_dataset.hpp"
#include "support/catch.hpp"

namespace pptrain {
namespace {

/// As if the file had been written a day ago.
void make_old(const std::string& path) {
  std::filesystem::last_write_time(path,
                                   std::filesystem::last_write_time(path) - std::chrono::hours(24));
}

/// Overwrites a part of a file, which keeps its length; with `unseen` also its time.
void overwrite(const std::string& path, std::streamoff offset, const std::string& bytes,
               bool unseen = false) {
  const auto time = std::filesystem::last_write_time(path);
  std::fstream file(path, std::ios::binary | std::ios::in | std::ios::out);
  file.seekp(offset);
  file << bytes;
  file.close();
  if (unseen) std::filesystem::last_write_time(path, time);
}

/// What a window of the data throws that is read now; "" where it does not.
std::string complaint(const TokenDataset& data, std::int64_t window) {
  std::vector<std::uint32_t> tokens(4), targets(4);
  try {
    data.window(window, tokens.data(), targets.data());
  } catch (const Error& error) {
    CHECK(error.code() == ExitCode::runtime_failure);
    return error.what();
  }
  return "";
}

DatasetOptions options() {
  DatasetOptions options;
  options.vocabulary_size = 300;
  options.sequence_length = 4;
  options.source = "c.toml:3";
  return options;
}

TEST_CASE("token files that are written while they are read end the job", "[changed]") {
  const TestFolder folder("changed");
  const std::string first = folder.write_tokens("a.bin", std::vector<std::uint16_t>(8, 1));
  const std::string second = folder.write_wide_tokens("b.bin", std::vector<std::uint32_t>(8, 1));
  make_old(first);
  make_old(second);
  const TokenDataset data({first, second}, options());
  CHECK(complaint(data, 0).empty());
  CHECK(complaint(data, 2).empty());
  overwrite(second, 1024, std::string("\x02\0\0\0", 4));
  CHECK(complaint(data, 0).empty());  // which is of the first file
  CHECK(complaint(data, 2).starts_with(second + ": the file was changed while the job runs"));
  std::filesystem::resize_file(first, std::filesystem::file_size(first) + 2);
  CHECK(
      complaint(data, 0).find(
          "a.bin: the file was changed while the job runs (it had 1040 bytes and has 1042 now)") !=
      std::string::npos);
  std::filesystem::resize_file(first, 10);  // its tokens are gone
  CHECK(complaint(data, 0).find("(it had 1040 bytes and has 10 now)") != std::string::npos);
}

TEST_CASE("no token that the vocabulary does not admit is taken, whatever a file's time says",
          "[changed]") {
  const TestFolder folder("unseen");
  const std::string narrow = folder.write_tokens("a.bin", std::vector<std::uint16_t>(20, 1));
  const std::string wide = folder.write_wide_tokens("b.bin", std::vector<std::uint32_t>(20, 1));
  folder.write("c.idx", TestFolder::bytes_of(TestFolder::index_of(5, 8, {20}, {0, 1})));
  folder.write("c.bin", TestFolder::bytes_of(std::vector<std::int64_t>(20, 1)));
  const TokenDataset a({narrow}, options()), b({wide}, options()),
      c({folder.path("c.idx")}, options());
  overwrite(narrow, 1024 + 2 * 5, std::string("\x2c\x01", 2), true);
  CHECK(complaint(a, 0).empty());
  CHECK(complaint(a, 1).find("a.bin: token 300 at position 5 is outside the vocabulary now") !=
        std::string::npos);
  overwrite(wide, 1024 + 4 * 5, std::string("\xff\xff\xff\xff", 4), true);
  CHECK(complaint(b, 1).find("token 4294967295 at position 5") != std::string::npos);
  // The lower half of such a number is a token.
  overwrite(folder.path("c.bin"), 8 * 5, std::string("\x01\0\0\0\x01\0\0\0", 8), true);
  CHECK(complaint(c, 1).find("at position 5 is outside the vocabulary now") != std::string::npos);
  overwrite(folder.path("c.bin"), 8 * 5, std::string(8, '\xff'), true);
  CHECK(complaint(c, 1).find("at position 5 is outside the vocabulary now") != std::string::npos);
}

TEST_CASE("an index that is written while it is read ends the job", "[changed]") {
  const TestFolder folder("changed_index");
  const std::string index =
      folder.write("x.idx", TestFolder::bytes_of(TestFolder::index_of(8, 2, {3, 6}, {0, 1, 2})));
  folder.write("x.bin", TestFolder::bytes_of(std::vector<std::uint16_t>(9, 1)));
  make_old(index);
  DatasetOptions of_documents = options();
  of_documents.needs_documents = true;
  const TokenDataset data({index}, of_documents);
  std::vector<std::int32_t> begins(4);
  SampleSlot slot;
  slot.document_begin = begins.data();
  data.window(0, slot);
  CHECK(begins == std::vector<std::int32_t>{0, 0, 0, 3});
  overwrite(index, 34, std::string("\x04\0\0\0\x05", 5));
  std::string message;
  try {
    data.window(0, slot);
  } catch (const Error& error) {
    CHECK(error.code() == ExitCode::runtime_failure);
    message = error.what();
  }
  CHECK(message.starts_with(index + ": the file was changed while the job runs"));
}

}  // namespace
}  // namespace pptrain
