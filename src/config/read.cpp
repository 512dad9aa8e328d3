#include "config/read.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "base/error.hpp"
#include "base/names.hpp"
#include "base/open_file.hpp"
#include "config/check.hpp"
#include "config/foreign_keys.hpp"
#include "config/keys.hpp"
#include "config/toml_reader.hpp"

namespace pptrain {
namespace {

/// The path beside the configuration where there is such a file, else as it stands.
std::string resolve(const std::string& path, const std::filesystem::path& folder) {
  if (path.empty() || std::filesystem::path(path).is_absolute()) return path;
  const std::filesystem::path beside = (folder / path).lexically_normal();
  std::error_code error;
  return std::filesystem::exists(beside, error) ? beside.string() : path;
}

/// The path of data beside the configuration where there is such a file, else as it stands; data is
/// also found as NAME where there is NAME.idx.
std::string resolve_data(const std::string& path, const std::filesystem::path& folder) {
  const std::string index = resolve(path + ".idx", folder);
  const std::string found = resolve(path, folder);
  return found == path && index != path + ".idx" ? index.substr(0, index.size() - 4) : found;
}

/// Sections by the keys that they have.
using SectionsOfKeys = std::map<std::string, std::vector<std::string>>;

class Reader : public KeyVisitor {
 public:
  Reader(TomlTable root, std::string folder, std::map<std::string, std::string>& places)
      : root_(std::move(root)), folder_(std::move(folder)), places_(places) {}

  /// Refuses what is left over. Call when all is visited.
  void finish() const {
    const auto advice = [this](const std::string& key) { return advice_for(key); };
    root_.finish([](const std::string& key) { return advice_for_foreign(key); });
    for (const TomlTable& section : sections_) section.finish(advice);
  }
  const SectionsOfKeys& sections_of_keys() const { return sections_of_keys_; }

  void begin_section(const Key& section) override {
    section_name_ = section.name;
    table_ = root_.table(section.name);
    if (table_) sections_.push_back(*table_);
  }
  void end_section() override { table_.reset(); }
  void text(const Key& key, std::string& value) override {
    if (find(key)) value = table_->string(key.name);
  }
  void texts(const Key& key, std::vector<std::string>& values) override {
    if (find(key)) values = table_->strings(key.name);
  }
  void input_path(const Key& key, std::string& value, const std::string& keyword) override {
    text(key, value);
    if (value != keyword) value = resolve(value, folder_);
  }
  void input_paths(const Key& key, std::vector<std::string>& values,
                   const std::string& keyword) override {
    if (!find(key)) return;
    values = table_->strings(key.name);
    std::erase(values, "");  // "" says none
    for (std::string& value : values) {
      if (value != keyword) value = resolve_data(value, folder_);
    }
  }
  void flag(const Key& key, bool& value) override {
    if (find(key)) value = table_->boolean(key.name);
  }
  void flag_or_auto(const Key& key, AutoFlag& value) override {
    if (find(key)) value = table_->flag_or_auto(key.name);
  }
  void integer(const Key& key, std::int64_t& value, const Range& range) override {
    if (!find(key)) return;
    value = table_->integer(key.name);
    check(key, static_cast<double>(value), range);
  }
  void integer_or_auto(const Key& key, AutoInt& value, const Range& range) override {
    if (!find(key)) return;
    value = table_->integer_or_auto(key.name, value);
    if (value) check(key, static_cast<double>(*value), range);
  }
  void number_or(const Key& key, std::optional<double>& value, const std::string& keyword,
                 const Range& range) override {
    if (!find(key)) return;
    value = table_->number_or(key.name, keyword);
    if (value) check(key, *value, range);
  }
  void number(const Key& key, double& value, const Range& range) override {
    if (!find(key)) return;
    value = table_->number(key.name);
    check(key, value, range);
  }
  void seconds(const Key& key, double& value, const Range& range) override {
    if (!find(key)) return;
    value = table_->quantity(key.name, Quantity::seconds);
    check(key, value, range);
  }
  void name(const Key& key, std::string& value, const std::vector<std::string>& names) override {
    if (find(key)) value = table_->name(key.name, names);
  }
  void integers(const Key& key, std::vector<std::int64_t>& values, const Range& range) override {
    if (!find(key)) return;
    values = table_->integers(key.name);
    for (const std::int64_t value : values) check(key, static_cast<double>(value), range);
  }
  void interval(const Key& key, Interval& value) override {
    if (!find(key)) table_->integer(key.name);  // refuses the missing key
    const std::vector<std::int64_t> ends = table_->integers(key.name);
    if (ends.size() != 2) {
      table_->refuse(key.name,
                     fmt::format("{} has {} numbers", table_->full_name(key.name), ends.size()),
                     "an interval has two", "give the first and the one behind the last");
    }
    value = {ends[0], ends[1]};
  }
  std::size_t elements(const Key& key, std::size_t size) override {
    return find(key) ? table_->tables(key.name).size() : size;
  }
  void begin_element(const std::string& key, std::size_t index) override {
    section_ = table_;
    table_ = section_->tables(key)[index];
    element_ = fmt::format("{}[{}]", section_->full_name(key), index);
    places_[element_] = table_->where();
  }
  void end_element() override {
    table_->finish();
    table_ = section_;
    section_.reset();
  }

 private:
  std::string advice_for(const std::string& key) const {
    const auto found = sections_of_keys_.find(key);
    if (found == sections_of_keys_.end()) return advice_for_foreign(key);
    return fmt::format("it is a key of [{}]", join(found->second, "], ["));
  }

  /// For a key or section that other tools have.
  static std::string advice_for_foreign(const std::string& key) {
    const std::string own = key_called(key);
    if (own.empty()) return "";
    const std::size_t dot = own.find('.');
    if (dot == std::string::npos) return fmt::format("did you mean [{}]?", own);
    return fmt::format("did you mean [{}] {}?", own.substr(0, dot), own.substr(dot + 1));
  }

  /// Whether the key is written; a key that is not keeps its default. Notes its place.
  bool find(const Key& key) {
    if (!section_) sections_of_keys_[key.name].push_back(section_name_);
    if (!table_) return false;
    // Tells the table that the key is known, written or not.
    table_->know(key.name);
    if (!table_->has(key.name)) return false;
    places_[section_ ? element_ + "." + key.name : table_->full_name(key.name)] =
        table_->where(key.name);
    return true;
  }

  void check(const Key& key, double value, const Range& range) const {
    if (range.contains(value)) return;
    std::string limits = "it has to be " + range.describe();
    // Descriptions leave out limits that are only there for typing errors.
    const bool leaves_out = limits.find("most") == std::string::npos;
    if (leaves_out && value > range.most) limits += fmt::format(" and at most {:.16g}", range.most);
    table_->refuse(key.name,
                   fmt::format("{} = {:.16g} is out of range", table_->full_name(key.name), value),
                   range.reason.empty() ? limits : limits + ": " + range.reason,
                   "choose one that is, or leave the key out for its default");
  }

  TomlTable root_;
  std::string folder_;
  std::map<std::string, std::string>& places_;
  SectionsOfKeys sections_of_keys_;
  std::string section_name_;
  std::vector<TomlTable> sections_;  // those that are written
  std::optional<TomlTable> table_;  // section or element being visited; none when it is not written
  std::optional<TomlTable> section_;  // section of the element being visited
  std::string element_;               // name of that element
};

/// Keys outside of sections would replace whole sections, or be none at all.
void check_overrides(const std::vector<std::string>& overrides) {
  for (const std::string& assignment : overrides) {
    const std::size_t equals = assignment.find('=');
    const std::string key = assignment.substr(0, equals);
    if (equals == std::string::npos || key.empty() || key.find('.') != std::string::npos) continue;
    std::vector<std::string> settings;
    for (const std::string& full : settings_called(key))
      settings.push_back(fmt::format("--set {}{}", full, assignment.substr(equals)));
    throw_bad_input(
        {"--set " + key, "the section is missing", "every key is one of a section",
         "write " + (settings.empty()
                         ? "--set SECTION.KEY=VALUE, for instance --set training.steps=10"
                         : join(settings, " or "))});
  }
}

/// The text of the config.json in the folder that `[model] from` names.
std::string read_description(const Config& config) {
  const std::string path = config.model.from + "/config.json";
  return read_text(
      path,
      {config.where("model.from"), fmt::format("{} cannot be read", path),
       "[model] from names a folder with config.json, as Hugging Face's save_pretrained writes it",
       "check the folder"});
}

/// Sections by the keys that they have where a configuration says nothing.
SectionsOfKeys default_keys() {
  Config defaults;
  Reader reader(parse_toml("", ""), "", defaults.places);
  visit_keys(reader, defaults);
  return reader.sections_of_keys();
}

/// Refuses keys of a model beside another one that describes it in their place.
void check_one_description(const TomlTable& root, const Config& config) {
  const ModelConfig& model = config.model;
  const std::optional<TomlTable> section = root.table("model");
  if (!section || model.names_dimensions()) return;
  const auto [describes, reason] =
      !model.from.empty()
          ? std::pair("model.from", std::string("the folder's config.json describes the model"))
      : model.published
          ? std::pair("model.name", fmt::format("a \"{}\" has dimensions of its own", model.name))
          : std::pair("model.layer", std::string("these tables describe the model"));
  const SectionsOfKeys sections = default_keys();
  for (const std::string& key : section->keys()) {
    const auto found = sections.find(key);
    const bool is_default = found != sections.end() &&
                            std::count(found->second.begin(), found->second.end(), "model") > 0;
    if (!is_default || config.places.contains(section->full_name(key))) continue;
    section->refuse(key, fmt::format("{} stands beside {}", section->full_name(key), describes),
                    reason, "remove one of them");
  }
}

Config config_of(const TomlTable& root, const std::string& source, const std::string& folder) {
  Config config;
  config.source = source;
  if (root.has("node") || root.has("device")) {
    throw_bad_input({source, "this is a cluster and no job", "it has [[node]] or [[device]]",
                     "name it by --cluster, or in [cluster] file of a job"});
  }
  Reader reader(root, folder, config.places);
  visit_keys(reader, config);
  check_one_description(root, config);
  reader.finish();
  check_config(config);
  return config;
}

}  // namespace

std::vector<std::string> settings_called(const std::string& name) {
  const SectionsOfKeys sections = default_keys();
  const std::string own = sections.contains(name) ? "" : key_called(name);
  if (own.find('.') != std::string::npos) return {own};
  std::vector<std::string> known;
  for (const auto& [key, of_key] : sections) known.push_back(key);
  const std::string near = sections.contains(name) ? name : nearest_name(name, known);
  std::vector<std::string> settings;
  if (near.empty()) return settings;
  for (const std::string& section : sections.at(near)) settings.push_back(section + "." + near);
  return settings;
}

Config read_config(const std::string& path, const std::vector<std::string>& overrides) {
  check_overrides(overrides);
  Config config = config_of(read_toml(path, overrides), path,
                            std::filesystem::path(path).parent_path().string());
  if (!config.model.from.empty()) config.model.description = read_description(config);
  return config;
}

Config parse_config(std::string_view text, const std::string& source, const std::string& folder,
                    const std::vector<std::string>& overrides) {
  check_overrides(overrides);
  return config_of(parse_toml(text, source, overrides), source, folder);
}

}  // namespace pptrain
