// Holds the includes of the whole tree to the tables of docs/architecture.md: layers, and rooms of
// the large folders.
#include <filesystem>
#include <fstream>
#include <iterator>
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

/// Rooms of a folder in their order: its subfolders, the files beside these together as ".", or
/// such a file by its name without or with the ending.
using Rooms = std::vector<std::string>;
const std::map<std::string, Rooms> rooms_of_folders = {
    {"model", {".", "folds", "graph", "optimizers", "families", "written", "build"}},
    {"planners",
     {"ask", "meshes", "divide", "published", "judge", "describe", "frames", "restrictions.cpp",
      "trainer_restrictions.cpp", "given_plan", "calibrate", "search", "other_nodes", "part_search",
      "objective", "what_if"}},
    {"profile", {".", "foreign"}},
    {"kernels", {".", "bodies", "host"}},
    {"nn", {"parameters", ".", "operators", "run"}},
    {"io", {".", "hdf5", "samples", "run", "checkpoint", "export"}},
    {"runtime",
     {"display", "places", "execute", "emulation", "generate", "measure", "record", "replan",
      "checkpoint", "job"}},
};

const std::set<std::string> pure = {"base",     "text",     "config",   "weights",    "model",
                                    "cluster",  "profile",  "plan",     "program",    "cost",
                                    "schedule", "simulate", "planners", "export_plan"};
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

std::map<std::string, int> positions(const Rooms& rooms) {
  std::map<std::string, int> position;
  for (const std::string& room : rooms) position.emplace(room, static_cast<int>(position.size()));
  return position;
}

/// The room of a file of a folder, by its path from there.
std::string room_of(const fs::path& file, const std::map<std::string, int>& position) {
  if (file.has_parent_path()) return file.begin()->string();
  if (position.count(file.string()) == 1) return file.string();
  return position.count(file.stem().string()) == 1 ? file.stem().string() : ".";
}

/// Checks the includes of one file of a folder, which is in `room`.
void check_room(const fs::path& file, const std::string& folder, const std::string& room,
                const std::map<std::string, int>& position) {
  for (const std::string& include : includes_of(file)) {
    if (!include.starts_with(folder + "/")) continue;
    const std::string included = room_of(fs::path(include).lexically_relative(folder), position);
    INFO("includes " << include);
    REQUIRE(position.count(included) == 1);
    CHECK(position.at(included) <= position.at(room));
  }
}

TEST_CASE("every room of a folder includes only rooms above it") {
  for (const auto& [folder, rooms] : rooms_of_folders) {
    const auto position = positions(rooms);
    const fs::path source = fs::path(pptrain::source_file("src")) / folder;
    std::set<std::string> seen;
    for (const auto& entry : fs::recursive_directory_iterator(source)) {
      if (!entry.is_regular_file()) continue;
      const std::string room = room_of(fs::relative(entry.path(), source), position);
      INFO(entry.path().string());
      REQUIRE(position.count(room) == 1);
      seen.insert(room);
      check_room(entry.path(), folder, room, position);
    }
    CHECK(seen.size() == position.size());
  }
}

TEST_CASE("a folder with subfolders has its rooms in order") {
  const fs::path source = fs::path(pptrain::source_file("src"));
  for (const auto& entry : fs::recursive_directory_iterator(source)) {
    if (!entry.is_directory()) continue;
    const std::string folder = fs::relative(entry.path(), source).begin()->string();
    INFO(entry.path().string());
    // Nothing includes the files of the report's page.
    if (entry.path().parent_path() != source && folder != "report")
      CHECK(rooms_of_folders.count(folder) == 1);
  }
}

/// The libraries that each folder's library is linked with, by the build's files, others of ours
/// alone.
std::map<std::string, std::set<std::string>> linked_libraries() {
  static const std::regex call(
      R"((?:pptrain_library\(|target_link_libraries\(pptrain_)(\w+)([^)]*)\))");
  static const std::regex library(R"(pptrain::(\w+))");
  std::map<std::string, std::set<std::string>> linked;
  for (const char* file : {"src/CMakeLists.txt", "cmake/PptrainCudaLibrary.cmake"}) {
    std::ifstream stream(pptrain::source_file(file));
    const std::string text = {std::istreambuf_iterator<char>(stream),
                              std::istreambuf_iterator<char>()};
    for (std::sregex_iterator at(text.begin(), text.end(), call), end; at != end; ++at) {
      const std::string arguments = (*at)[2];
      for (std::sregex_iterator one(arguments.begin(), arguments.end(), library); one != end;
           ++one) {
        linked[(*at)[1]].insert((*one)[1]);
      }
    }
  }
  return linked;
}

/// Adds what a library is linked with, whatever is between them, to `all`.
void add_linked(const std::string& folder,
                const std::map<std::string, std::set<std::string>>& linked,
                std::set<std::string>& all) {
  const auto own = linked.find(folder);
  if (own == linked.end()) return;
  for (const std::string& library : own->second) {
    if (all.insert(library).second) add_linked(library, linked, all);
  }
}

TEST_CASE("every folder is linked with the folders that it includes") {
  const auto linked = linked_libraries();
  const auto position = positions(layers);
  const fs::path source = fs::path(pptrain::source_file("src"));
  for (const auto& [folder, place] : position) {
    std::set<std::string> libraries = {folder};
    add_linked(folder, linked, libraries);
    for (const auto& entry : fs::recursive_directory_iterator(source / folder)) {
      if (!entry.is_regular_file()) continue;
      for (const std::string& include : includes_of(entry.path())) {
        const std::string included = include.substr(0, include.find('/'));
        INFO(entry.path().string() << " includes " << include);
        if (position.count(included) == 1) CHECK(libraries.count(included) == 1);
      }
    }
  }
}

/// Types of one name in two files of one namespace would share their generated functions when
/// linked.
TEST_CASE("no type is defined twice") {
  static const std::regex definition(
      R"(^(?:struct|class|enum class) (\w+)(?: final)?(?: : .*)? \{.*)");
  std::map<std::string, std::string> known;
  for (const auto& entry :
       fs::recursive_directory_iterator(fs::path(pptrain::source_file("src")))) {
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
