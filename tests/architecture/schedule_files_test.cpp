// Holds schedules, and patterns of blocks, to what CONTRIBUTING.md says of their price: few files
// name one.
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <regex>
#include <set>
#include <string>

#include "support/catch.hpp"
#include "support/files.hpp"

namespace {

namespace fs = std::filesystem;

std::string content_of(const fs::path& file) {
  std::ifstream stream(file);
  return {std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>()};
}

std::set<std::string> found_in(const std::string& text, const std::regex& pattern) {
  std::set<std::string> found;
  for (std::sregex_iterator at(text.begin(), text.end(), pattern), end; at != end; ++at)
    found.insert((*at)[1]);
  return found;
}

/// Files of src with each text in quotes.
std::map<std::string, std::set<std::string>> files_by_literal() {
  static const std::regex literal(R"re("([^"\\\n]+)")re");
  std::map<std::string, std::set<std::string>> files;
  const fs::path source = pptrain::source_file("src");
  for (const auto& entry : fs::recursive_directory_iterator(source)) {
    const fs::path extension = entry.path().extension();
    if (extension != ".hpp" && extension != ".cpp") continue;
    for (const std::string& text : found_in(content_of(entry.path()), literal)) {
      files[text].insert(fs::relative(entry.path(), source).string());
    }
  }
  return files;
}

}  // namespace

TEST_CASE("a schedule is named by its row and by who makes its orders") {
  static const std::regex row(R"re(\.name = "([^"]+)")re");
  const std::set<std::string> names =
      found_in(content_of(pptrain::source_file("src/config/schedule_kinds.cpp")), row);
  const auto files = files_by_literal();
  CHECK(names.size() >= 10);
  for (const std::string& name : names) {
    INFO(name);
    REQUIRE(files.count(name) == 1);
    CHECK(files.at(name).count("config/schedule_kinds.cpp") == 1);
    CHECK(files.at(name).count("schedule/orders.cpp") == 1);
    // Plans without another choice have one of the first two, and "auto" is the word for what is
    // left to planners.
    if (name != "1f1b" && name != "interleaved-1f1b" && name != "auto")
      CHECK(files.at(name).size() == 2);
  }
}

TEST_CASE("a pattern of blocks is named in one file") {
  const auto files = files_by_literal();
  for (const char* name : {"sp1", "sp2"}) {
    INFO(name);
    CHECK(files.at(name) == std::set<std::string>{"plan/patterns.cpp"});
  }
}
