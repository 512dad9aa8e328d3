#include "weights/config_json.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <limits>
#include <set>

#include "base/error.hpp"
#include "base/log_once.hpp"
#include "base/names.hpp"
#include "weights/json_text.hpp"

namespace pptrain {
namespace {

constexpr const char* config_suggestion =
    "name a folder with the config.json that save_pretrained has written";

std::optional<std::int64_t> whole_number(const nlohmann::ordered_json& value) {
  constexpr auto largest = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
  if (value.is_number_unsigned() && value.get<std::uint64_t>() > largest) return std::nullopt;
  if (value.is_number_integer()) return value.get<std::int64_t>();
  return std::nullopt;
}

/// The beginning of a value, for messages. An object or list may be of any length.
std::string beginning_of(const nlohmann::ordered_json& value) {
  if (value.is_object()) return "an object";
  if (value.is_array()) return fmt::format("a list of {}", value.size());
  return value.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

bool equals(const nlohmann::ordered_json& found, const ConfigValue& wanted) {
  if (const bool* truth = std::get_if<bool>(&wanted))
    return found.is_boolean() && found.get<bool>() == *truth;
  if (const std::string* text = std::get_if<std::string>(&wanted))
    return found.is_string() && found == *text;
  const auto* whole = std::get_if<std::int64_t>(&wanted);
  const double number = whole != nullptr ? static_cast<double>(*whole) : std::get<double>(wanted);
  return found.is_number() && found.get<double>() == number;
}

std::string shown_value(const ConfigValue& value) {
  return std::visit([](const auto& one) { return nlohmann::ordered_json(one).dump(); }, value);
}

}  // namespace

struct ConfigJson::Record {
  JsonText text;
  std::string source;
  std::set<const nlohmann::ordered_json*> asked;  ///< values
  std::set<std::string> missing_names;            ///< paths that were asked for and are not there

  std::vector<std::string> missing() const { return {missing_names.begin(), missing_names.end()}; }
};

ConfigJson::ConfigJson(std::shared_ptr<Record> record, const nlohmann::ordered_json* object,
                       std::string path)
    : record_(std::move(record)), object_(object), path_(std::move(path)) {}

ConfigJson ConfigJson::read(const std::string& folder) {
  const std::string path = (std::filesystem::path(folder) / "config.json").string();
  auto record =
      std::make_shared<Record>(Record{read_json_text(path, config_suggestion), path, {}, {}});
  const nlohmann::ordered_json* top = &record->text.object;
  return {std::move(record), top, ""};
}

ConfigJson ConfigJson::parse(const std::string& text, const std::string& source) {
  auto record = std::make_shared<Record>(
      Record{parse_json_text(text, source, config_suggestion), source, {}, {}});
  const nlohmann::ordered_json* top = &record->text.object;
  return {std::move(record), top, ""};
}

std::string ConfigJson::model_type(const std::vector<std::string>& known) const {
  const std::string type = text("model_type");
  if (std::find(known.begin(), known.end(), type) != known.end()) return type;
  refuse("model_type", fmt::format("is \"{}\"", type), "known families are " + join(known),
         did_you_mean(type, known, "give a model of one of these families"));
}

bool ConfigJson::has(const std::string& key) const {
  const auto member = object_->find(key);
  return member != object_->end() && !member->is_null();
}

bool ConfigJson::is_null(const std::string& key) const {
  const auto member = object_->find(key);
  return member != object_->end() && member->is_null();
}

/// The value of a key, which is asked for with this; null where it is left out or `null`.
const nlohmann::ordered_json* ConfigJson::find(const std::string& key) const {
  const auto member = object_->find(key);
  if (member == object_->end()) record_->missing_names.insert(path_ + key);
  if (member == object_->end() || member->is_null()) return nullptr;
  record_->asked.insert(&*member);
  return &*member;
}

const nlohmann::ordered_json& ConfigJson::at(const std::string& key) const {
  const nlohmann::ordered_json* value = find(key);
  if (value == nullptr) {
    refuse(key, is_null(key) ? "is null" : "is missing", "the model cannot be built without it",
           "add the key, as save_pretrained writes it");
  }
  return *value;
}

std::int64_t ConfigJson::integer(const std::string& key,
                                 std::optional<std::int64_t> fallback) const {
  if (find(key) == nullptr && fallback) return *fallback;
  const std::optional<std::int64_t> value = whole_number(at(key));
  if (!value) refuse_type(key, "a whole number");
  return *value;
}

std::int64_t ConfigJson::size(const std::string& key, std::optional<std::int64_t> fallback,
                              std::int64_t most) const {
  const std::int64_t value = integer(key, fallback);
  if (value < 1 || value > most) refuse_type(key, fmt::format("a whole number from 1 to {}", most));
  return value;
}

double ConfigJson::number(const std::string& key, std::optional<double> fallback) const {
  if (find(key) == nullptr && fallback) return *fallback;
  const nlohmann::ordered_json& value = at(key);
  if (!value.is_number() || !std::isfinite(value.get<double>())) refuse_type(key, "a number");
  return value.get<double>();
}

bool ConfigJson::boolean(const std::string& key, std::optional<bool> fallback) const {
  if (find(key) == nullptr && fallback) return *fallback;
  const nlohmann::ordered_json& value = at(key);
  if (!value.is_boolean()) refuse_type(key, "true or false");
  return value.get<bool>();
}

std::string ConfigJson::text(const std::string& key, std::optional<std::string> fallback) const {
  if (find(key) == nullptr && fallback) return *fallback;
  const nlohmann::ordered_json& value = at(key);
  if (!value.is_string()) refuse_type(key, "text in quotes");
  return value.get<std::string>();
}

std::vector<std::string> ConfigJson::texts(const std::string& key) const {
  const nlohmann::ordered_json* value = find(key);
  if (value == nullptr) return {};
  const auto is_text = [](const nlohmann::ordered_json& one) { return one.is_string(); };
  if (!value->is_array() || !std::all_of(value->begin(), value->end(), is_text))
    refuse_type(key, "a list of texts");
  return value->get<std::vector<std::string>>();
}

std::vector<std::int64_t> ConfigJson::integers(const std::string& key) const {
  const nlohmann::ordered_json* value = find(key);
  if (value == nullptr) return {};
  if (!value->is_array()) refuse_type(key, "a list of whole numbers");
  std::vector<std::int64_t> numbers;
  for (const nlohmann::ordered_json& one : *value) {
    const std::optional<std::int64_t> number = whole_number(one);
    if (!number) refuse_type(key, "a list of whole numbers");
    numbers.push_back(*number);
  }
  return numbers;
}

std::vector<std::string> ConfigJson::mixed(const std::string& key) const {
  const nlohmann::ordered_json& value = at(key);
  const char* wanted = "a list of whole numbers and texts";
  if (!value.is_array()) refuse_type(key, wanted);
  std::vector<std::string> texts;
  for (const nlohmann::ordered_json& one : value) {
    const std::optional<std::int64_t> number = whole_number(one);
    if (!number && !one.is_string()) refuse_type(key, wanted);
    texts.push_back(number ? std::to_string(*number) : one.get<std::string>());
  }
  return texts;
}

std::int64_t ConfigJson::num_entries(const std::string& key, std::int64_t fallback) const {
  const nlohmann::ordered_json* value = find(key);
  if (value == nullptr) return fallback;
  if (!value->is_object() || value->empty()) refuse_type(key, "an object with entries");
  return static_cast<std::int64_t>(value->size());
}

ConfigJson ConfigJson::object(const std::string& key) const {
  const nlohmann::ordered_json& value = at(key);
  if (!value.is_object()) refuse_type(key, "an object");
  return {record_, &value, path_ + key + "."};
}

void ConfigJson::only(const std::string& key, const ConfigValue& value,
                      const std::string& reason) const {
  const nlohmann::ordered_json* found = find(key);
  if (found == nullptr || equals(*found, value)) return;
  refuse(key, fmt::format("is {}", beginning_of(*found)), reason,
         fmt::format("{} is supported: choose a model with that", shown_value(value)));
}

std::string ConfigJson::place_of(const std::string& key) const {
  const auto member = object_->find(key);
  const nlohmann::ordered_json* value =
      key.empty() || member == object_->end() ? object_ : &*member;
  const auto line = record_->text.lines.find(value);
  return line == record_->text.lines.end() ? record_->source
                                           : fmt::format("{}:{}", record_->source, line->second);
}

void ConfigJson::refuse(const std::string& key, const std::string& problem,
                        const std::string& reason, const std::string& suggestion) const {
  const std::string name =
      key.empty() && !path_.empty() ? path_.substr(0, path_.size() - 1) : path_ + key;
  throw_bad_input({name.empty() ? place_of(key) : fmt::format("{}: {}", place_of(key), name),
                   problem, reason, suggestion});
}

void ConfigJson::refuse_type(const std::string& key, const std::string& wanted) const {
  const auto member = object_->find(key);
  refuse(key, fmt::format("must be {}", wanted),
         member == object_->end() ? "it is left out" : "it is " + beginning_of(*member),
         "correct the value");
}

/// Adds the keys that nobody asked for, as paths; `first_place`: file and line of the first.
void ConfigJson::collect_unknown(const std::vector<std::string>& harmless,
                                 std::vector<std::string>& paths, std::string& first_place) const {
  for (const auto& member : object_->items()) {
    const nlohmann::ordered_json& value = member.value();
    if (value.is_null() ||
        std::find(harmless.begin(), harmless.end(), member.key()) != harmless.end())
      continue;
    if (record_->asked.count(&value) == 0) {
      if (paths.empty()) first_place = place_of(member.key());
      paths.push_back(path_ + member.key());
    } else if (value.is_object()) {
      ConfigJson(record_, &value, path_ + member.key() + ".")
          .collect_unknown({}, paths, first_place);
    }
  }
}

/// The keys that nobody asked for and that change nothing. Another value of a neutral key is
/// refused.
std::vector<std::string> ConfigJson::passed_over(const std::vector<std::string>& harmless,
                                                 const std::vector<std::string>& ignored) const {
  const auto among = [](const std::vector<std::string>& keys, const std::string& key) {
    return std::find(keys.begin(), keys.end(), key) != keys.end();
  };
  std::vector<std::string> passed;
  for (const auto& member : object_->items()) {
    const std::string& key = member.key();
    if (member.value().is_null() || among(harmless, key) ||
        record_->asked.count(&member.value()) != 0)
      continue;
    const auto& neutral = neutral_config_keys();
    const auto known = std::find_if(neutral.begin(), neutral.end(),
                                    [&](const NeutralKey& one) { return one.key == key; });
    if (known == neutral.end() && !among(ignored, key)) continue;
    if (!among(ignored, key) && !known->value.empty() &&
        member.value() != nlohmann::ordered_json::parse(known->value)) {
      refuse(key, fmt::format("is {}", beginning_of(member.value())), known->reason,
             fmt::format("{} is supported: choose a model with that", known->value));
    }
    passed.push_back(key);
  }
  return passed;
}

void ConfigJson::finish(const std::vector<std::string>& also_harmless,
                        const std::vector<std::string>& ignored) const {
  std::vector<std::string> harmless = also_harmless;
  for (const HarmlessKey& known : harmless_config_keys()) harmless.push_back(known.key);
  const std::vector<std::string> passed = passed_over(harmless, ignored);
  harmless.insert(harmless.end(), passed.begin(), passed.end());
  std::vector<std::string> paths;
  std::string place;
  collect_unknown(harmless, paths, place);
  if (paths.empty()) {
    if (!passed.empty()) {
      log_notice_once(fmt::format("{}: {} {} nothing here: passed over", record_->source,
                                  join(passed), passed.size() == 1 ? "changes" : "change"));
    }
    return;
  }
  const std::string first = paths.front();
  paths.erase(paths.begin());
  throw_bad_input({fmt::format("{}: {}", place, first), "is not known",
                   "the key may change what the model computes" +
                       (paths.empty() ? "" : "; not known either: " + join(paths)),
                   did_you_mean(first, record_->missing(),
                                "choose a model without it, or remove it if it has no effect")});
}

}  // namespace pptrain
