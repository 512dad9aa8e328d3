#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "base/error.hpp"
#include "base/names.hpp"
#include "base/open_file.hpp"
#include "config/toml_levels.hpp"
#include "config/toml_state.hpp"

namespace pptrain {
namespace {

constexpr std::string_view set_option = "--set ";

/// What to do about a file that is not there: name the one of that name in inputs/, or one that is
/// near it in the same folder.
std::string advice_for_missing(const std::string& path) {
  namespace fs = std::filesystem;
  std::error_code ignored;
  const fs::path example = fs::path("inputs") / fs::path(path).filename();
  if (fs::is_regular_file(example, ignored))
    return fmt::format("did you mean {}?", example.string());
  const fs::path folder = fs::path(path).parent_path();
  std::vector<std::string> names;
  for (fs::directory_iterator entry(folder.empty() ? "." : folder, ignored), end;
       !ignored && entry != end; entry.increment(ignored)) {
    if (entry->path().extension() == ".toml") names.push_back(entry->path().filename().string());
  }
  std::sort(names.begin(), names.end());
  const std::string near = nearest_name(fs::path(path).filename().string(), names);
  if (near.empty()) return "check the path; examples are in inputs/";
  return fmt::format("did you mean {}?", (folder / near).string());
}

/// The value of `value = VALUE`, or nothing where that is no TOML. Nodes remember `place` as their
/// source.
std::optional<toml::table> parse_value(const std::string& value, const std::string& place) {
  const std::string text = "value = " + value;
  if (find_toml_beyond(text)) return std::nullopt;
  try {
    toml::table table = toml::parse(text, place);
    if (table.size() == 1 && table.contains("value")) return table;
  } catch (const toml::parse_error&) {
  }
  return std::nullopt;
}

/// The table that `name` names in `root`, made when there is none.
toml::table& section(toml::table& root, const std::string& name, const std::string& place) {
  if (name.empty()) return root;
  if (toml::node* node = root.get(name)) {
    if (toml::table* table = node->as_table()) return *table;
    throw_bad_input({place, fmt::format("\"{}\" is not a section", name),
                     "the file has a value or an array of tables there",
                     "override a key of a [section]"});
  }
  toml::table made = *parse_value("{}", place);
  root.insert(name, std::move(*made.get_as<toml::table>("value")));
  return *root.get_as<toml::table>(name);
}

void apply_override(toml::table& root, const std::string& assignment) {
  const std::size_t equals = assignment.find('=');
  const std::string path = assignment.substr(0, equals);
  const std::size_t dot = path.find('.');
  const std::string key = dot == std::string::npos ? path : path.substr(dot + 1);
  if (equals == std::string::npos || key.empty() || dot == 0) {
    throw_bad_input({fmt::format("{}{}", set_option, assignment), "this is no assignment",
                     "it has no name or no =",
                     "write --set section.key=VALUE, for instance --set training.steps=10"});
  }
  const std::string place = std::string(set_option) + path;
  const std::string value = assignment.substr(equals + 1);
  std::optional<toml::table> parsed = parse_value(value, place);
  if (!parsed) parsed = parse_value(quote_toml(value), place);
  if (!parsed) {
    throw_bad_input(
        {place, "the value is not text", "it has bytes that are no UTF-8", "write it in UTF-8"});
  }
  toml::table& target = section(root, dot == std::string::npos ? "" : path.substr(0, dot), place);
  // Moving keeps the source of the node; copying would lose it.
  parsed->get("value")->visit([&](auto& node) { target.insert_or_assign(key, std::move(node)); });
}

bool mentions(const toml::parse_error& error, std::string_view words) {
  return error.description().find(words) != std::string_view::npos;
}

/// What to do about text that is no TOML.
std::string suggestion_for(const toml::parse_error& error) {
  if (mentions(error, "redefine")) return "keep one of the two";
  if (mentions(error, "not representable in 64 bits")) return "write a smaller number";
  if (mentions(error, "utf-8")) return "save the file as UTF-8";
  return "correct this line: text goes in double quotes, numbers do not";
}

/// What to do with a model's folder, or the config.json in it, that stands where a job is needed.
std::string advice_for_model(const std::string& path) {
  return fmt::format("plan it by --model {}, or name its folder in [model] from", path);
}

/// Files that are no text in UTF-8, or another format altogether, are told by how they begin.
void check_format(std::string_view text, const std::string& source) {
  const bool is_utf16 = text.starts_with("\xFF\xFE") || text.starts_with("\xFE\xFF") ||
                        text.substr(0, 2).find('\0') != std::string_view::npos;
  if (is_utf16) {
    throw_bad_input({source, "this is UTF-16 or no text", "TOML is text in UTF-8",
                     "save it as UTF-8, for instance by `iconv -f UTF-16 -t UTF-8`"});
  }
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  if (first != std::string_view::npos && text[first] == '{') {
    const bool is_model = text.find("\"model_type\"") != std::string_view::npos;
    throw_bad_input(
        {source, "this is JSON and no TOML",
         is_model ? "it describes a model" : "plans and profiles are JSON, jobs and clusters TOML",
         is_model ? advice_for_model(source)
                  : "give a TOML file; a plan goes into [parallelism] plan, a profile into "
                    "[profile] file"});
  }
}

void check_levels(std::string_view text, const std::string& source) {
  const std::optional<std::int64_t> line = find_toml_beyond(text);
  if (!line) return;
  throw_bad_input({fmt::format("{}:{}", source, *line),
                   fmt::format("a name has more than {} parts, or brackets lie in more than {}",
                               most_toml_levels, most_toml_levels),
                   "no key lies that deep", "write the keys into their [sections]"});
}

}  // namespace

std::string place_of(const toml::node& node, const std::string& source) {
  const toml::source_region& region = node.source();
  const std::string path = region.path ? *region.path : source;
  if (region.begin.line == 0 || path.starts_with(set_option)) return path;
  return fmt::format("{}:{}", path, region.begin.line);
}

TomlTable parse_toml(std::string_view text, const std::string& source,
                     const std::vector<std::string>& overrides) {
  check_format(text, source);
  check_levels(text, source);
  auto document = std::make_shared<toml::table>();
  try {
    *document = toml::parse(text, source);
  } catch (const toml::parse_error& error) {
    const toml::source_position at = error.source().begin;
    throw_bad_input({fmt::format("{}:{}:{}", source, at.line, at.column), "this is not valid TOML",
                     std::string(error.description()), suggestion_for(error)});
  }
  for (const std::string& assignment : overrides) apply_override(*document, assignment);
  auto state = std::make_shared<TomlTable::State>();
  state->table = document.get();
  state->document = std::move(document);
  state->source = source;
  return TomlTable(std::move(state));
}

TomlTable read_toml(const std::string& path, const std::vector<std::string>& overrides) {
  const OpenFile file(path);
  if (file.is_missing()) {
    throw_bad_input({path, "the file does not exist", "", advice_for_missing(path)});
  }
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored)) {
    const bool is_model = std::filesystem::exists(path + "/config.json", ignored);
    throw_bad_input({path, is_model ? "this is a model's folder" : "this is a directory",
                     "a TOML file is needed",
                     is_model ? advice_for_model(path) : "name the file in it"});
  }
  return parse_toml(
      read_text(file, {path, "the file cannot be read", "", "check the file and its permissions"}),
      path, overrides);
}

std::string quote_toml(std::string_view text) {
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      quoted += '\\';
      quoted += c;
    } else if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) {
      quoted += fmt::format("\\u{:04X}", static_cast<unsigned>(static_cast<unsigned char>(c)));
    } else {
      quoted += c;
    }
  }
  return quoted + "\"";
}

}  // namespace pptrain
