#include "base/atomic_file.hpp"

#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "data/files.hpp"
#include "support/catch.hpp"
#include "support/child.hpp"
#include "support/complaint.hpp"

namespace pptrain {
namespace {

namespace fs = std::filesystem;

std::string content(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

std::size_t files_in(const TestFolder& folder) {
  return static_cast<std::size_t>(
      std::distance(fs::directory_iterator(folder.path("")), fs::directory_iterator()));
}

std::span<const std::byte> bytes(std::string_view text) { return std::as_bytes(std::span(text)); }

TEST_CASE("a file appears whole, in place of the one before", "[atomic_file]") {
  const TestFolder folder("atomic");
  const std::string path = folder.write("file", "before");
  {
    AtomicFile file(path);
    file.write(bytes("xxter"));
    file.rewrite_start(bytes("af"));
    CHECK(content(path) == "before");
    file.commit();
  }
  CHECK(content(path) == "after");
  { AtomicFile(path).write(bytes("not committed")); }
  CHECK(content(path) == "after");
  fs::create_symlink("file", folder.path("link"));
  write_file(folder.path("link"), "behind the link");
  CHECK(content(path) == "behind the link");
  CHECK(fs::is_symlink(folder.path("link")));
  CHECK(files_in(folder) == 2);
}

TEST_CASE("parts of a file are written in any order, and may leave room between them",
          "[atomic_file]") {
  const TestFolder folder("atomic_parts");
  const std::string path = folder.path("file");
  AtomicFile file(path);
  file.write_at(6, bytes("gh"));
  file.write_at(1, bytes("bcd"));
  file.write(bytes("e"));
  file.flush();
  CHECK(content(path + ".partial") == std::string("\0bcde\0gh", 8));
  file.write_at(0, bytes("a"));
  file.commit();
  CHECK(content(path) == std::string("abcde\0gh", 8));
}

TEST_CASE(
    "two that write a file at a time both write whole ones, and what was left by one that was "
    "killed goes",
    "[atomic_file]") {
  const TestFolder folder("atomic_two");
  const std::string path = folder.path("file");
  folder.write("file.partial", "left by one that was killed, longer than what is written");
  {
    AtomicFile first(path), second(path);
    second.write(bytes("second, longer"));
    first.write(bytes("first"));
    second.commit();
    CHECK(content(path) == "second, longer");
    first.commit();
  }
  CHECK(content(path) == "first");
  CHECK(files_in(folder) == 1);
}

TEST_CASE("a full disk leaves the file before, and is a failure and no bad input",
          "[atomic_file]") {
  const TestFolder folder("atomic_full");
  const std::string path = folder.write("file", "before");
  for (const rlim_t limit : {0, 1, 4096, 99999}) {
    const int status = in_child([&] {
      limit_files(limit);
      try {
        write_file(path, std::string(100000, 'x'));
      } catch (const Error& error) {
        ::_exit(static_cast<int>(error.code()));
      }
    });
    REQUIRE(WIFEXITED(status));
    CHECK(WEXITSTATUS(status) == 4);
    CHECK(content(path) == "before");
    CHECK(files_in(folder) == 1);
  }
}

TEST_CASE("what cannot be written is refused with the system's words", "[atomic_file]") {
  const TestFolder folder("atomic_refused");
  CHECK(complaint_of([&] { write_file(folder.path("no/file"), "", "go away"); }) ==
        folder.path("no/file") + ": cannot be written (No such file or directory); go away");
  CHECK_THAT(complaint_of([] { write_file("/dev/null", ""); }),
             Catch::Contains("something else than a file"));
}

}  // namespace
}  // namespace pptrain
