// Holds families of models to what CONTRIBUTING.md says of their price: a file of their own and few
// others that name them.
#include <algorithm>
#include <cctype>
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

/// Files beside tests and documentation that may name one family.
constexpr std::size_t most_files = 4;

const std::string families_folder = "src/model/families/";

std::string content_of(const fs::path& file) {
  std::ifstream stream(file);
  return {std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>()};
}

/// "_opt_shape_" for OptShape, opt_shape and "opt-shape": so that families are found however they
/// are written.
std::string spelled(const std::string& word) {
  std::string text = "_";
  for (std::size_t i = 0; i < word.size(); ++i) {
    const auto c = static_cast<unsigned char>(word[i]);
    if (i > 0 && std::isupper(c) != 0 && std::isupper(static_cast<unsigned char>(word[i - 1])) == 0)
      text += '_';
    text += std::isalnum(c) != 0 ? static_cast<char>(std::tolower(c)) : '_';
  }
  return text + '_';
}

/// Identifiers of a file, and texts without blanks, which are no prose. Comments do not count.
std::set<std::string> words_of(const fs::path& file) {
  const bool is_code =
      file.extension() == ".cpp" || file.extension() == ".hpp" || file.extension() == ".cu";
  static const std::regex code_comment(R"(//[^\n]*)");
  static const std::regex script_comment(R"((^|\n)\s*#[^\n]*)");
  static const std::regex word(R"re("([^"\\\n]|\\.)*"|\w+)re");
  const std::string text =
      std::regex_replace(content_of(file), is_code ? code_comment : script_comment, "\n");
  std::set<std::string> words;
  for (std::sregex_iterator at(text.begin(), text.end(), word), end; at != end; ++at) {
    if (at->str().find(' ') == std::string::npos) words.insert(at->str());
  }
  return words;
}

/// Whatever belongs to the program and its build, from the root of the source; not what Python has
/// compiled beside it.
std::vector<std::string> program_files() {
  const fs::path root = pptrain::source_file("");
  std::vector<std::string> files = {"CMakeLists.txt", "CMakePresets.json", "bootstrap.sh"};
  for (const char* folder : {"src", "apps", "cmake", "spack", "job-scripts"}) {
    for (const auto& entry : fs::recursive_directory_iterator(root / folder)) {
      if (entry.is_regular_file() && entry.path().extension() != ".pyc")
        files.push_back(fs::relative(entry.path(), root).string());
    }
  }
  return files;
}

/// The families that a file of src/model/families builds, as their `model_type`.
std::vector<std::string> families_in(const std::string& text) {
  static const std::regex builder(
      R"(\nModel build_((?!family\b)\w+)\(const ConfigJson& config, const FamilyOptions& options\) \{)");
  std::vector<std::string> types;
  for (std::sregex_iterator at(text.begin(), text.end(), builder), end; at != end; ++at)
    types.push_back((*at)[1]);
  return types;
}

/// Whether a word names a family, rather than one whose longer name begins with the same words.
bool names_family(std::string word, const std::string& type, const std::set<std::string>& types) {
  for (const std::string& longer : types) {
    if (!longer.starts_with(type + "_")) continue;
    for (std::size_t at = word.find(longer); at != std::string::npos; at = word.find(longer)) {
      word.erase(at, longer.size());
    }
  }
  return word.find("_" + type + "_") != std::string::npos;
}

}  // namespace

TEST_CASE("a family of models is named in few files") {
  std::map<std::string, std::set<std::string>> words;
  // What families share has the name of the first that took it, as LlamaShape.
  const std::set<std::string> shared =
      words_of(pptrain::source_file(families_folder + "config_keys.hpp"));
  for (const std::string& file : program_files()) {
    // Papers' models and steps of tokenizers have names of their own, some of which are those of a
    // family, and recipes for packages name folders and features ("/opt"). The file that users take
    // to their GPUs runs without the program.
    const auto below = [&file](const char* folder) { return file.starts_with(folder); };
    if (below("src/config/published_models") || below("src/text/") || below("cmake/packaging/") ||
        below("apps/profile_torch/"))
      continue;
    for (const std::string& word : words_of(pptrain::source_file(file))) {
      if (!shared.contains(word)) words[file].insert(spelled(word));
    }
  }
  REQUIRE(words.size() > 300);

  std::set<std::string> types;
  for (const auto& entry : fs::directory_iterator(pptrain::source_file(families_folder))) {
    for (const std::string& type : families_in(content_of(entry.path()))) types.insert(type);
  }
  std::set<std::string> checked;
  for (const auto& entry : fs::directory_iterator(pptrain::source_file(families_folder))) {
    const std::string own = families_folder + entry.path().filename().string();
    for (const std::string& type : families_in(content_of(entry.path()))) {
      std::vector<std::string> naming;
      for (const auto& [file, of_file] : words) {
        const auto names = [&](const std::string& word) { return names_family(word, type, types); };
        if (std::any_of(of_file.begin(), of_file.end(), names)) naming.push_back(file);
      }
      INFO(type << " of " << own);
      CAPTURE(naming);
      CHECK(std::count(naming.begin(), naming.end(), own) == 1);
      CHECK(std::count(naming.begin(), naming.end(), families_folder + "families.cpp") == 1);
      CHECK(naming.size() <= most_files);
      checked.insert(type);
    }
  }
  // No family is missed, but for GPT-2, which [model] name knows too.
  std::set<std::string> in_table;
  for (const std::string& word : words_of(pptrain::source_file(families_folder + "families.cpp"))) {
    if (word.starts_with("build_") && !word.ends_with("_family")) in_table.insert(word.substr(6));
  }
  CHECK(checked == in_table);
  CHECK(checked.contains("opt"));
}
