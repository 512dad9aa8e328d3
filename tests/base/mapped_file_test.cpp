#include "base/mapped_file.hpp"

#include <csignal>
#include <filesystem>
#include <memory>
#include <string_view>
#include <utility>

#include "base/in_process.hpp"
#include "data/files.hpp"
#include "support/catch.hpp"
#include "support/complaint.hpp"

namespace pptrain {
namespace {

namespace fs = std::filesystem;

std::string_view text_in(const MappedFile& file) {
  return {reinterpret_cast<const char*>(file.bytes().data()), file.bytes().size()};
}

TEST_CASE("a mapped file has the bytes of the file and the path that was given", "[base]") {
  const TestFolder folder("mapped");
  const std::string text = "a\0b" + std::string(10000, 'x');
  folder.write("file", text);
  fs::create_symlink("file", folder.path("link"));
  const MappedFile file(folder.path("link"), "here");
  CHECK(text_in(file) == text);
  CHECK(file.path() == folder.path("link"));
}

TEST_CASE("a mapped file stays mapped where it is moved to", "[base]") {
  const TestFolder folder("mapped_moved");
  auto first = std::make_unique<MappedFile>(folder.write("first", "first"), "here");
  const std::byte* place = first->bytes().data();
  auto moved = std::make_unique<MappedFile>(std::move(*first));
  first.reset();
  CHECK(moved->bytes().data() == place);
  CHECK(text_in(*moved) == "first");
  MappedFile other(folder.write("other", "another"), "here");
  other = std::move(*moved);
  moved.reset();
  CHECK(other.bytes().data() == place);
  CHECK(text_in(other) == "first");
  CHECK(other.path() == folder.path("first"));
}

TEST_CASE("what cannot be mapped is refused at its place", "[base]") {
  const TestFolder folder("mapped_refused");
  const auto refusal_of = [&](const std::string& name) {
    return complaint_of([&] { MappedFile(folder.path(name), "job.toml:3"); });
  };
  folder.write("empty", "");
  CHECK(refusal_of("empty") ==
        "job.toml:3: " + folder.path("empty") + " is empty; name a file that holds data");
  CHECK(refusal_of("none") == "job.toml:3: " + folder.path("none") +
                                  " does not exist (No such file or directory); check the path and "
                                  "its permissions");
}

TEST_CASE("a mapped file that becomes shorter ends the process with a word about it", "[base]") {
  const TestFolder folder("mapped_shorter");
  const std::string path = folder.write("file", std::string(100, 'x'));
  const Ended ended = in_process([&] {
    const MappedFile file(path, "here");
    fs::resize_file(path, 0);
    const volatile std::byte lost = file.bytes()[0];
    static_cast<void>(lost);
  });
  CHECK(ended.signal == SIGBUS);
  CHECK_THAT(ended.said, Catch::Contains("became shorter"));
}

}  // namespace
}  // namespace pptrain
