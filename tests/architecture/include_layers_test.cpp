// Holds the includes of the whole tree to the layer table of docs/architecture.md.
#include <filesystem>
#include <fstream>
#include <map>
#include <regex>
#include <set>
#include <string>
#include <vector>

#include "support/catch.hpp"
#include "support/files.hpp"

namespace {

namespace fs = std::filesystem;

/// Rows of the table, top to bottom. A folder may include folders of the rows above and those
/// before it in its own row.
const std::vector<std::vector<std::string>> layers = {
    {"base"},
    {"text", "config", "weights", "model", "cluster", "profile", "plan", "program"},
    {"cost", "schedule"},
    {"simulate"},
    {"planners", "export_plan"},
    {"tensor", "kernels", "comm", "cuda"},
    {"nn", "optim", "data", "probe", "io"},
    {"runtime"},
    {"report"},
};

/// Rooms of src/planners likewise: folders, and files that lie beside them, by their names without or with the ending.
const std::vector<std::vector<std::string>> planner_rooms = {
    {"ask"},
    {"meshes"},
    {"divide"},
    {"published"},
    {"judge"},
    {"describe"},
    {"frames"},
    {"restrictions.cpp", "trainer_restrictions.cpp", "given_plan", "calibrate", "search", "other_nodes", "part_search",
     "objective"},
    {"what_if"},
};

const std::set<std::string> pure = {"base", "text",    "config", "weights",  "model",    "cluster",  "profile",
                                    "plan", "program", "cost",   "schedule", "simulate", "planners", "export_plan"};
const std::regex machine_header(R"(^(mpi\.h|Kokkos_|hdf5|H5|cuda|nccl|cublas|cudnn))");

std::map<std::string, int> positions(const std::vector<std::vector<std::string>>& rows) {
  std::map<std::string, int> position;
  for (const auto& row : rows) {
    for (const auto& folder : row) position.emplace(folder, static_cast<int>(position.size()));
  }
  return position;
}

std::vector<std::string> includes_of(const fs::path& file) {
  static const std::regex pattern(R"(^\s*#\s*include\s*["<]([^">]+)[">])");
  std::vector<std::string> includes;
  std::ifstream stream(file);
  std::string line;
  std::smatch match;
  while (std::getline(stream, line)) {
    if (std::regex_search(line, match, pattern)) includes.push_back(match[1]);
  }
  return includes;
}

}  // namespace

TEST_CASE("every folder includes only folders above it") {
  const auto position = positions(layers);
  const fs::path source = fs::path(pptrain::source_file("src"));
  int checked = 0;
  for (const auto& entry : fs::recursive_directory_iterator(source)) {
    const fs::path extension = entry.path().extension();
    if (extension != ".hpp" && extension != ".cpp" && extension != ".cu") continue;
    const std::string folder = fs::relative(entry.path(), source).begin()->string();
    INFO(entry.path().string());
    REQUIRE(position.count(folder) == 1);
    for (const std::string& include : includes_of(entry.path())) {
      INFO("includes " << include);
      const std::string included = include.substr(0, include.find('/'));
      if (position.count(included) == 1) CHECK(position.at(included) <= position.at(folder));
      if (pure.count(folder) == 1) CHECK_FALSE(std::regex_search(include, machine_header));
      ++checked;
    }
  }
  CHECK(checked > 100);
}

/// The room of a file of src/planners, by its path from there.
std::string room_of(const fs::path& file, const std::map<std::string, int>& position) {
  if (file.has_parent_path()) return file.begin()->string();
  return position.count(file.string()) == 1 ? file.string() : file.stem().string();
}

TEST_CASE("every room of the planners includes only rooms above it") {
  const auto position = positions(planner_rooms);
  const fs::path source = fs::path(pptrain::source_file("src/planners"));
  std::set<std::string> seen;
  for (const auto& entry : fs::recursive_directory_iterator(source)) {
    if (!entry.is_regular_file()) continue;
    const std::string room = room_of(fs::relative(entry.path(), source), position);
    INFO(entry.path().string());
    REQUIRE(position.count(room) == 1);
    seen.insert(room);
    for (const std::string& include : includes_of(entry.path())) {
      if (!include.starts_with("planners/")) continue;
      const std::string included = room_of(fs::path(include).lexically_relative("planners"), position);
      INFO("includes " << include);
      REQUIRE(position.count(included) == 1);
      CHECK(position.at(included) <= position.at(room));
    }
  }
  CHECK(seen.size() == position.size());
}

/// Types of one name in two files of one namespace would share their generated functions when linked.
TEST_CASE("no type is defined twice") {
  static const std::regex definition(R"(^(?:struct|class|enum class) (\w+)(?: final)?(?: : .*)? \{.*)");
  std::map<std::string, std::string> known;
  for (const auto& entry : fs::recursive_directory_iterator(fs::path(pptrain::source_file("src")))) {
    if (!entry.is_regular_file()) continue;
    std::ifstream stream(entry.path());
    std::string line;
    std::smatch match;
    bool anonymous = false;
    while (std::getline(stream, line)) {
      if (line == "namespace {") anonymous = true;
      if (line == "}  // namespace") anonymous = false;
      if (anonymous || !std::regex_match(line, match, definition)) continue;
      const auto [first, is_new] = known.try_emplace(match[1], entry.path().string());
      INFO(match[1] << " in " << first->second << " and " << entry.path().string());
      CHECK(is_new);
    }
  }
  CHECK(known.size() > 100);
}
