#include "base/file_stamp.hpp"

#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>

#include "base/error.hpp"
#include "support/catch.hpp"

namespace pptrain {
namespace {

namespace fs = std::filesystem;

/// A file that was written a day ago.
class OldFile {
 public:
  OldFile() {
    write("abc");
    fs::last_write_time(path_, fs::last_write_time(path_) - std::chrono::hours(24));
  }
  ~OldFile() { fs::remove(path_); }
  OldFile(const OldFile&) = delete;
  OldFile& operator=(const OldFile&) = delete;

  const std::string& path() const { return path_; }
  void write(const std::string& text) const { std::ofstream(path_, std::ios::binary) << text; }

 private:
  std::string path_ =
      fs::temp_directory_path() / ("pptrain_test_stamp_" + std::to_string(::getpid()));
};

/// What `check_unchanged` throws; "" where it does not.
std::string complaint(const FileStamp& stamp) {
  try {
    stamp.check_unchanged();
  } catch (const Error& error) {
    CHECK(error.code() == ExitCode::runtime_failure);
    return error.what();
  }
  return "";
}

TEST_CASE("a file that is written while it is read is noticed", "[stamp]") {
  const OldFile file;
  const FileStamp stamp(file.path());
  CHECK(complaint(stamp).empty());
  file.write("abd");
  CHECK(complaint(stamp).starts_with(
      file.path() + ": the file was changed while the job runs (it was written after"));
  const FileStamp later(file.path());
  CHECK(complaint(later).empty());
  file.write("abcdef");
  CHECK(complaint(later).find("(it had 3 bytes and has 6 now)") != std::string::npos);
}

TEST_CASE("a file that is removed, renamed or replaced is still what others have open", "[stamp]") {
  const OldFile file;
  const FileStamp stamp(file.path());
  fs::rename(file.path(), file.path() + ".old");
  CHECK(complaint(stamp).empty());
  file.write("another file");
  CHECK(complaint(stamp).empty());
  fs::rename(file.path() + ".old", file.path());
  CHECK(complaint(stamp).empty());
  const FileStamp nothing(file.path() + ".none");
  CHECK(complaint(nothing).empty());
}

}  // namespace
}  // namespace pptrain
