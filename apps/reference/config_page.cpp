#include "config_page.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <sstream>

#include "config/keys.hpp"
#include "config/read.hpp"
#include "examples.hpp"
#include "tables.hpp"

namespace pptrain {
namespace {

std::string limits(const Range& range) {
  return std::isfinite(range.least) ? ", " + range.describe() : "";
}

const std::string interval_type = "`[first, last + 1]`";

std::string quoted(const std::string& value) { return "`\"" + value + "\"`"; }

/// Describes every key that a configuration of one model has.
class Describer : public KeyVisitor {
 public:
  std::vector<KeyTable> tables;

  void begin_section(const Key& section) override {
    tables.push_back({fmt::format("[{}]", section.name), section.description, {}});
    section_ = section.name;
    section_table_ = tables.size() - 1;
  }
  void end_section() override {}
  void text(const Key& key, std::string&) override { add(key, "text"); }
  void texts(const Key& key, std::vector<std::string>&) override { add(key, "array of texts"); }
  void input_path(const Key& key, std::string&, const std::string& keyword) override {
    add(key, "path" + or_keyword(keyword));
  }
  void input_paths(const Key& key, std::vector<std::string>&, const std::string& keyword) override {
    add(key, "path or array of paths" + or_keyword(keyword));
  }
  void flag(const Key& key, bool&) override { add(key, "`true` or `false`"); }
  void flag_or_auto(const Key& key, AutoFlag&) override {
    add(key, "`true`, `false` or `\"auto\"`");
  }
  void integers(const Key& key, std::vector<std::int64_t>&, const Range& range) override {
    add(key, "array of integers" + limits(range));
  }
  void integer(const Key& key, std::int64_t&, const Range& range) override {
    add(key, "integer" + limits(range));
  }
  void integer_or_auto(const Key& key, AutoInt&, const Range& range) override {
    add(key, "integer" + limits(range) + ", or `\"auto\"`");
  }
  void number_or(const Key& key, std::optional<double>&, const std::string& keyword,
                 const Range& range) override {
    add(key, "number" + limits(range) + or_keyword(keyword));
  }
  void number(const Key& key, double&, const Range& range) override {
    add(key, "number" + limits(range));
  }
  void seconds(const Key& key, double&, const Range& range) override {
    add(key, "time with unit, or seconds" + limits(range));
  }
  void name(const Key& key, std::string&, const std::vector<std::string>& names) override {
    std::string all;
    for (const std::string& name : names) all += (all.empty() ? "" : ", ") + quoted(name);
    add(key, all);
  }
  void interval(const Key& key, Interval&) override { add(key, interval_type); }
  /// Layers are described where there are some; of every other array one element.
  std::size_t elements(const Key& key, std::size_t size) override {
    tables[section_table_].keys.push_back({key.name, "array of tables", "none", key.description});
    return key.name == "layer" ? size : 1;
  }
  void begin_element(const std::string& key, std::size_t) override {
    tables.push_back({fmt::format("[[{}.{}]]", section_, key), "", {}});
  }
  void end_element() override {}

 private:
  static std::string or_keyword(const std::string& keyword) {
    return keyword.empty() ? "" : ", or " + quoted(keyword);
  }
  void add(const Key& key, const std::string& type) {
    tables.back().keys.push_back({key.name, type, "", key.description});
  }

  std::string section_;
  std::size_t section_table_ = 0;  // an element's table may be behind it
};

Config named(const std::string& model) {
  Config config;
  config.model.name = model;
  return config;
}

/// A job whose model a folder describes.
Config from_folder() {
  Config config;
  config.model.from = "FOLDER";
  return config;
}

std::vector<KeyTable> described(Config config) {
  Describer describer;
  visit_keys(describer, config);
  return std::move(describer.tables);
}

/// Defaults by `[section]` and key, as a configuration that says no more than this one is written.
std::map<std::string, std::map<std::string, std::string>> defaults_of(Config config) {
  config.model.annotate.resize(1);
  config.data.mix.resize(1);
  std::istringstream lines(write_config(config));
  std::map<std::string, std::map<std::string, std::string>> defaults;
  std::string section;
  for (std::string line; std::getline(lines, line);) {
    const std::size_t equals = line.find(" = ");
    if (line.starts_with('[')) section = line;
    if (equals != std::string::npos)
      defaults[section][line.substr(0, equals)] = line.substr(equals + 3);
  }
  return defaults;
}

/// The keys of both kinds of model, those that only one of them has with its name.
KeyTable merged(const KeyTable& transformer, const KeyTable& classifier) {
  KeyTable table = {transformer.path, transformer.description, {}};
  const std::vector<std::string> in_both = classifier.names();
  const std::vector<std::string> there = transformer.names();
  const auto has = [](const std::vector<std::string>& names, const std::string& name) {
    return std::find(names.begin(), names.end(), name) != names.end();
  };
  for (KeyDescription key : transformer.keys) {
    if (!has(in_both, key.name)) key.description += " Of transformers.";
    table.keys.push_back(key);
  }
  for (KeyDescription key : classifier.keys) {
    if (has(there, key.name)) continue;
    key.description += " Of `mlp-classifier`.";
    table.keys.push_back(key);
  }
  return table;
}

/// Adds the keys that a table has only where a folder describes the model, each behind the one that
/// it follows there.
void add_keys_of_folder(KeyTable& table, const KeyTable& folder) {
  for (std::size_t i = 1; i < folder.keys.size(); ++i) {
    const auto place_of = [&](const std::string& name) {
      return std::find_if(table.keys.begin(), table.keys.end(),
                          [&](const KeyDescription& key) { return key.name == name; });
    };
    KeyDescription key = folder.keys[i];
    if (place_of(key.name) != table.keys.end()) continue;
    key.description += " With `from`.";
    table.keys.insert(place_of(folder.keys[i - 1].name) + 1, key);
  }
}

/// The keys of a network's layers, a table for each kind.
std::string layer_tables() {
  Config config;
  config.model.layer = layers_of_all_kinds();  // though no chain has all
  Describer describer;
  visit_keys(describer, config);
  std::vector<KeyTable> tables = std::move(describer.tables);
  std::erase_if(tables, [](const KeyTable& table) { return table.path != "[[model.layer]]"; });
  std::vector<std::map<std::string, std::string>> defaults;
  std::istringstream lines(write_config(config));
  bool in_layer = false;
  for (std::string line; std::getline(lines, line);) {
    const std::size_t equals = line.find(" = ");
    if (line.starts_with('[')) in_layer = line == "[[model.layer]]";
    if (in_layer && line.starts_with('[')) defaults.emplace_back();
    if (in_layer && equals != std::string::npos)
      defaults.back()[line.substr(0, equals)] = line.substr(equals + 3);
  }
  std::string text;
  for (std::size_t i = 0; i < tables.size(); ++i) {
    for (KeyDescription& key : tables[i].keys) key.fallback = "`" + defaults[i].at(key.name) + "`";
    tables[i].keys.front().fallback = "`\"block\"`";
    tables[i].path += fmt::format(": kind = \"{}\"", config.model.layer[i].name());
    text += table_section(tables[i], Fallback::default_value);
  }
  return text;
}

}  // namespace

std::string config_page() {
  const std::vector<KeyTable> transformer = described(named("gpt2"));
  const std::vector<KeyTable> classifier = described(named("mlp-classifier"));
  const std::vector<KeyTable> folder = described(from_folder());
  auto defaults = defaults_of(named("gpt2"));
  for (const Config& other : {named("mlp-classifier"), from_folder()}) {
    for (auto& [section, values] : defaults_of(other)) defaults[section].merge(values);
  }
  std::string text = page_head("CONFIG.toml",
                               "A job, as `pptrain train` and `pptrain plan` read it. Every key "
                               "may be left out, and `--set SECTION.KEY=VALUE` "
                               "replaces\none. Paths are looked for beside the file first, then in "
                               "the working directory. `pptrain validate "
                               "CONFIG.toml` checks a file. Times have a [unit](index.md#units).");
  text += config_example;
  for (std::size_t i = 0; i < transformer.size(); ++i) {
    KeyTable table = merged(transformer[i], classifier[i]);
    add_keys_of_folder(table, folder[i]);
    for (KeyDescription& key : table.keys) {
      const auto found = defaults[table.path].find(key.name);
      // An interval is always asked for.
      if (found != defaults[table.path].end() && key.type != interval_type)
        key.fallback = "`" + found->second + "`";
    }
    text += table_section(table, Fallback::default_value);
    if (table.path == "[model]") text += layer_tables();
  }
  return text;
}

}  // namespace pptrain
