// Holds tests to where a reader looks for them: what a pure folder offers to others has its test at
// the path of its header.
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

/// Folders without MPI and without a machine, as src/CMakeLists.txt lists them.
const std::set<std::string> pure_folders = {
    "base", "text",    "config", "weights",  "model",    "cluster",  "profile",
    "plan", "program", "cost",   "schedule", "simulate", "planners", "export_plan"};

/// Headers that declare data alone: there is nothing of theirs that a test could call.
const std::set<std::string> headers_of_data = {"base/infinity.hpp", "config/layer_forms.hpp",
                                               "model/folds/layer_bytes.hpp",
                                               "profile/error_band.hpp"};

std::string content_of(const fs::path& file) {
  std::ifstream stream(file);
  return {std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>()};
}

std::string folder_of(const std::string& path) { return path.substr(0, path.find('/')); }

/// Headers of pure folders that another folder of src, or a program, includes.
std::set<std::string> offered_headers() {
  static const std::regex include(R"re(#include "([^"]+\.hpp)")re");
  std::set<std::string> offered;
  for (const char* top : {"src", "apps"}) {
    const fs::path root = pptrain::source_file(top);
    for (const auto& entry : fs::recursive_directory_iterator(root)) {
      if (!entry.is_regular_file()) continue;
      const std::string own = folder_of(fs::relative(entry.path(), root).string());
      const std::string text = content_of(entry.path());
      for (std::sregex_iterator at(text.begin(), text.end(), include), end; at != end; ++at) {
        const std::string header = (*at)[1];
        const std::string folder = folder_of(header);
        const bool is_own = std::string(top) == "src" && folder == own;
        if (pure_folders.contains(folder) && !is_own) offered.insert(header);
      }
    }
  }
  return offered;
}

/// tests/cost/pipeline_test.cpp for cost/pipeline.hpp.
fs::path test_of(const std::string& header) {
  const std::string stem = header.substr(0, header.size() - std::string(".hpp").size());
  return pptrain::source_file("tests/" + stem + "_test.cpp");
}

}  // namespace

TEST_CASE("what a pure folder offers to others is tested at the path of its header") {
  const std::set<std::string> offered = offered_headers();
  CHECK(offered.size() > 100);
  std::set<std::string> untested;
  for (const std::string& header : offered) {
    if (!fs::exists(test_of(header)) && !headers_of_data.contains(header)) untested.insert(header);
  }
  CAPTURE(untested);
  CHECK(untested.empty());
  for (const std::string& header : headers_of_data) {
    CAPTURE(header);
    CHECK(offered.contains(header));
    CHECK(!fs::exists(test_of(header)));
  }
}

TEST_CASE("a test at the path of a header includes it") {
  const fs::path root = pptrain::source_file("tests");
  std::set<std::string> others;
  for (const std::string& header : offered_headers()) {
    const fs::path test = test_of(header);
    if (!fs::exists(test)) continue;
    if (content_of(test).find("#include \"" + header + '"') == std::string::npos)
      others.insert(fs::relative(test, root).string());
  }
  CAPTURE(others);
  CHECK(others.empty());
}
