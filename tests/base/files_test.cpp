#include "base/files.hpp"

#include <sys/stat.h>

#include <cerrno>
#include <filesystem>

#include "data/files.hpp"
#include "support/catch.hpp"
#include "support/complaint.hpp"

namespace pptrain {
namespace {

namespace fs = std::filesystem;

TEST_CASE("a full disk is a failure and no bad input", "[base]") {
  for (const int error : {ENOSPC, EDQUOT, EIO}) {
    try {
      throw_unwritable({"file", "cannot be written", "", ""}, error);
    } catch (const Error& thrown) {
      CHECK(thrown.code() == ExitCode::runtime_failure);
    }
  }
}

TEST_CASE("where a file cannot be written otherwise that is bad input, with the system's words",
          "[base]") {
  CHECK(complaint_of([] {
          throw_unwritable({"file", "cannot be written", "", "wait"}, ENOENT);
        }) == "file: cannot be written (No such file or directory); wait");
  CHECK(complaint_of([] { throw_unwritable({"", "x", "because", ""}, EACCES); }) == "x (because)");
}

TEST_CASE("the file to replace is the one at the end of links", "[base]") {
  const TestFolder folder("files_links");
  const std::string file = folder.write("file", "before");
  fs::create_symlink("file", folder.path("link"));
  fs::create_symlink(folder.path("link"), folder.path("second link"));
  for (const char* name : {"file", "link", "second link"}) {
    CHECK(replaced_file(folder.path(name)) == fs::canonical(file).string());
    CHECK(file_to_replace(folder.path(name)) == fs::canonical(file).string());
  }
  CHECK(replaced_file(folder.path("new")) == folder.path("new"));
  CHECK(file_to_replace("new") == "new");
}

TEST_CASE("what is no file is not replaced", "[base]") {
  const TestFolder folder("files_kinds");
  fs::create_directory(folder.path("folder"));
  REQUIRE(::mkfifo(folder.path("pipe").c_str(), 0600) == 0);
  fs::create_symlink("/dev/null", folder.path("link"));
  for (const std::string& path : {folder.path("folder"), folder.path("pipe"), folder.path("link"),
                                  std::string("/dev/null")}) {
    CHECK_FALSE(replaced_file(path));
    CHECK(complaint_of([&] { file_to_replace(path); }) ==
          path + ": cannot be written (something else than a file has this name); name a file");
  }
}

}  // namespace
}  // namespace pptrain
