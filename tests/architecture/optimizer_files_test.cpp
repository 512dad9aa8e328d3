// Holds optimizers to what CONTRIBUTING.md says of their price: few files name one.
#include <algorithm>
#include <cctype>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <regex>
#include <set>
#include <string>
#include <vector>

#include "support/catch.hpp"
#include "support/files.hpp"

namespace {

namespace fs = std::filesystem;

std::string content_of(const fs::path& file) {
  std::ifstream stream(file);
  return {std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>()};
}

/// The optimizers, as the list in src/config/optimizers.hpp names them.
std::vector<std::string> optimizers() {
  static const std::regex list(
      R"(#define PPTRAIN_FOR_EACH_OPTIMIZER\(one\)((?:[^\n]*\\\n)*[^\n]*))");
  static const std::regex entry(R"(one\((\w+)\))");
  const std::string text = content_of(pptrain::source_file("src/config/optimizers.hpp"));
  std::smatch found;
  std::vector<std::string> names;
  if (!std::regex_search(text, found, list)) return names;
  const std::string entries = found[1];
  for (std::sregex_iterator at(entries.begin(), entries.end(), entry), end; at != end; ++at)
    names.push_back((*at)[1]);
  return names;
}

/// What the compiler reads of a file, in small letters.
std::string code_of(const fs::path& file) {
  static const std::regex comment(R"(//[^\n]*)");
  std::string text = std::regex_replace(content_of(file), comment, "");
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char c) { return std::tolower(c); });
  return text;
}

/// Files of src whose code has the name, but for plans of other trainers, who have optimizers of
/// their own.
std::set<std::string> files_naming(const std::string& optimizer) {
  const std::regex name("(^|[^a-z])" + optimizer + "([^a-z]|step|$)");
  const fs::path source = pptrain::source_file("src");
  std::set<std::string> naming;
  for (const auto& entry : fs::recursive_directory_iterator(source)) {
    const std::string file = fs::relative(entry.path(), source).string();
    if (!entry.is_regular_file() || file.starts_with("export_plan/")) continue;
    if (std::regex_search(code_of(entry.path()), name)) naming.insert(file);
  }
  return naming;
}

}  // namespace

TEST_CASE("an optimizer is named by its line, its keys, its rule and its step") {
  const std::vector<std::string> names = optimizers();
  CHECK(names.size() >= 5);
  for (const std::string& name : names) {
    std::set<std::string> naming = files_naming(name);
    CAPTURE(name, naming);
    for (const std::string& file :
         {std::string("config/optimizers.hpp"), "model/optimizers/" + name + ".cpp",
          "optim/" + name + ".cpp"}) {
      CHECK(naming.erase(file) == 1);
    }
    // Some files have to name the optimizer: its keys, its arithmetic of one element, and the
    // description of what checkpoints have of it.
    for (const char* file :
         {"config/optimizer_keys.cpp", "kernels/bodies/update_steps.hpp", "io/keys.cpp"}) {
      naming.erase(file);
    }
    // AdamW is what a job has that names none, and what Muon takes for all but hidden matrices.
    if (name == "adamw") naming.erase("model/optimizers/muon.cpp");
    CHECK(naming.empty());
  }
}
