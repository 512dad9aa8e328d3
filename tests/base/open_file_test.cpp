#include "base/open_file.hpp"

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>

#include "base/mapped_file.hpp"
#include "data/files.hpp"
#include "support/catch.hpp"
#include "support/complaint.hpp"

namespace pptrain {
namespace {

namespace fs = std::filesystem;

const Complaint complaint = {"here", "cannot be read", "", "do something"};

std::string refusal(const std::string& path, std::int64_t most = longest_text_file) {
  return complaint_of([&] { read_text(path, complaint, most); });
}

/// A name of a socket.
void make_socket(const std::string& path) {
  const int descriptor = ::socket(AF_UNIX, SOCK_STREAM, 0);
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  REQUIRE(path.size() < sizeof address.sun_path);
  std::memcpy(address.sun_path, path.c_str(), path.size());
  REQUIRE(::bind(descriptor, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0);
  ::close(descriptor);
}

TEST_CASE("a text file is read whole, whatever is in it", "[open_file]") {
  const TestFolder folder("open_file");
  for (const std::size_t size : {0U, 1U, 65535U, 65536U, 65537U, 300000U}) {
    std::string text(size, 'x');
    for (std::size_t i = 0; i < size; i += 7) text[i] = static_cast<char>(i);
    CHECK(read_text(folder.write("text", text), complaint) == text);
  }
  fs::create_symlink(folder.path("text"), folder.path("link"));
  CHECK(read_text(folder.path("link"), complaint).size() == 300000);
  CHECK(OpenFile(folder.path("link")).real_path() == fs::canonical(folder.path("text")));
  CHECK(read_text("/proc/self/cmdline", complaint).find("test_base") !=
        std::string::npos);  // it has no length
}

TEST_CASE("what is no regular file is refused at once, without waiting and without reading",
          "[open_file]") {
  const TestFolder folder("open_file_kinds");
  REQUIRE(::mkfifo(folder.path("pipe").c_str(), 0600) == 0);
  make_socket(folder.path("socket"));
  fs::create_directory(folder.path("folder"));
  fs::create_symlink("/dev/zero", folder.path("zero"));
  fs::create_symlink(folder.path("pipe"), folder.path("link"));
  for (const auto& [name, kind] : {std::pair{"pipe", "a pipe"},
                                   {"link", "a pipe"},
                                   {"socket", "a socket"},
                                   {"folder", "a folder"},
                                   {"zero", "a device"}}) {
    CAPTURE(name);
    CHECK(refusal(folder.path(name)) == std::string("here: cannot be read (it is ") + kind +
                                            ", not a regular file); do something");
    CHECK_THAT(complaint_of([&] { MappedFile(folder.path(name), "there"); }),
               Catch::StartsWith("there: ") &&
                   Catch::Contains(std::string(name) + " is not a regular file"));
    CHECK_FALSE(OpenFile(folder.path(name)).is_missing());
  }
  CHECK(refusal(folder.path("none")) ==
        "here: cannot be read (No such file or directory); do something");
  CHECK(OpenFile(folder.path("none")).is_missing());
  CHECK(complaint_of([&] {
          read_text(folder.path("none"), {"here", "is needed", "because", ""});
        }) == "here: is needed (because)");
  CHECK_THAT(complaint_of([&] {
               read_text(folder.path("pipe"), {"here", "is needed", "because", ""});
             }),
             Catch::Contains("(it is a pipe"));
}

TEST_CASE("a text file that is longer than its limit is refused", "[open_file]") {
  const TestFolder folder("open_file_limit");
  const std::string path = folder.write("text", std::string(100, 'x'));
  CHECK(read_text(path, complaint, 100).size() == 100);
  CHECK(
      refusal(path, 99) ==
      "here: cannot be read (it has more than 99 bytes, the limit for such a file); do something");
  CHECK_THAT(refusal("/proc/self/maps", 99), Catch::Contains("more than 99 bytes"));
}

TEST_CASE("companions of a model lie in its folder, or beside the revisions of the cache",
          "[open_file]") {
  const TestFolder folder("open_file_companions");
  folder.write("secret", "secret");
  fs::create_directories(folder.path("cache/models--a--b/blobs"));
  fs::create_directories(folder.path("cache/models--a--b/snapshots/1f"));
  fs::create_directories(folder.path("cache/models--c--d/blobs"));
  folder.write("cache/models--a--b/blobs/77", "template");
  folder.write("cache/models--c--d/blobs/88", "another model's");
  const std::string revision = folder.path("cache/models--a--b/snapshots/1f");
  fs::create_symlink("../../blobs/77", revision + "/mine");
  fs::create_symlink("../../../models--c--d/blobs/88", revision + "/theirs");
  CHECK(read_companion(revision, "mine") == "template");
  CHECK_FALSE(read_companion(revision, "none").has_value());
  CHECK_THAT(complaint_of([&] { read_companion(revision, "theirs"); }),
             Catch::Contains("theirs: is a link that leads out of its folder"));

  fs::create_directories(folder.path("model"));
  fs::create_directories(folder.path("modelling"));
  folder.write("model/a", "a");
  folder.write("modelling/c", "c");
  fs::create_symlink("a", folder.path("model/b"));
  fs::create_symlink("../modelling/c", folder.path("model/c"));
  fs::create_symlink(folder.path("secret"), folder.path("model/d"));
  fs::create_symlink(folder.path("none"), folder.path("model/e"));
  fs::create_directory_symlink(folder.path("model"), folder.path("linked"));
  for (const std::string where : {"model", "linked", "modelling/../model/."}) {
    CHECK(read_companion(folder.path(where), "a") == "a");
    CHECK(read_companion(folder.path(where), "b") == "a");
    for (const char* out : {"c", "d"}) {
      CHECK_THAT(complaint_of([&] { read_companion(folder.path(where), out); }),
                 Catch::Contains("leads out of"));
    }
    CHECK_FALSE(read_companion(folder.path(where), "e").has_value());
  }
  REQUIRE(::mkfifo(folder.path("model/pipe").c_str(), 0600) == 0);
  CHECK_THAT(complaint_of([&] { read_companion(folder.path("model"), "pipe"); }),
             Catch::Contains("it is a pipe"));
}

}  // namespace
}  // namespace pptrain
