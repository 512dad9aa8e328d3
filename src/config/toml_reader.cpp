#include "config/toml_reader.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/error.hpp"
#include "base/names.hpp"
#include "config/toml_state.hpp"

namespace pptrain {
namespace {

std::string_view type_name(const toml::node& node) {
  switch (node.type()) {
    case toml::node_type::string: return "a string";
    case toml::node_type::integer: return "an integer";
    case toml::node_type::floating_point: return "a float";
    case toml::node_type::boolean: return "a boolean";
    case toml::node_type::array: return "an array";
    case toml::node_type::table: return "a table";
    default: return "a date or time";
  }
}

/// Looks the key up and marks it as known.
const toml::node* find(TomlTable::State& state, std::string_view key) {
  state.known.insert(std::string(key));
  return state.table->get(key);
}

std::string dotted(const std::string& path, std::string_view key) {
  return path.empty() ? std::string(key) : fmt::format("{}.{}", path, key);
}

[[noreturn]] void refuse_type(const TomlTable::State& state, std::string_view key,
                              const toml::node& node, std::string_view wanted,
                              const std::string& suggestion) {
  throw_bad_input({place_of(node, state.source),
                   fmt::format("{} is {}", dotted(state.path, key), type_name(node)),
                   fmt::format("it has to be {}", wanted), suggestion});
}

/// Keys that nobody has looked up yet: misspelt ones are among them.
std::vector<std::string> unasked_keys(const TomlTable::State& state) {
  std::vector<std::string> keys;
  for (const auto& [key, node] : *state.table) {
    if (!state.known.contains(std::string(key.str()))) keys.emplace_back(key.str());
  }
  return keys;
}

/// What a missing key without fallback leads to.
template <class T>
T fallback_or_missing(const TomlTable::State& state, std::string_view key,
                      std::optional<T> fallback) {
  if (fallback) return *std::move(fallback);
  const std::string near = nearest_name(std::string(key), unasked_keys(state));
  throw_bad_input({place_of(*state.table, state.source),
                   fmt::format("{} is missing", dotted(state.path, key)), "it has no default",
                   near.empty() ? fmt::format("add {} = ...", key)
                                : fmt::format("write {} instead of {}", key, near)});
}

TomlTable child(const TomlTable::State& state, std::string_view key, const toml::table& table) {
  auto made = std::make_shared<TomlTable::State>();
  made->document = state.document;
  made->table = &table;
  made->path = dotted(state.path, key);
  made->source = state.source;
  return TomlTable(std::move(made));
}

}  // namespace

bool TomlTable::has(std::string_view key) const { return state_->table->contains(key); }

void TomlTable::know(std::string_view key) const { state_->known.insert(std::string(key)); }

std::vector<std::string> TomlTable::keys() const {
  std::vector<std::string> names;
  for (const auto& [key, node] : *state_->table) names.emplace_back(key.str());
  std::sort(names.begin(), names.end());
  return names;
}

std::string TomlTable::where() const { return place_of(*state_->table, state_->source); }

std::string TomlTable::where(std::string_view key) const {
  const toml::node* node = state_->table->get(key);
  return node != nullptr ? place_of(*node, state_->source) : where();
}

std::string TomlTable::full_name(std::string_view key) const { return dotted(state_->path, key); }

std::string TomlTable::string(std::string_view key, std::optional<std::string> fallback) const {
  const toml::node* node = find(*state_, key);
  if (node == nullptr) return fallback_or_missing(*state_, key, std::move(fallback));
  if (const auto value = node->value_exact<std::string>()) return *value;
  refuse_type(*state_, key, *node, "a string", "put it in quotes");
}

bool TomlTable::boolean(std::string_view key, std::optional<bool> fallback) const {
  const toml::node* node = find(*state_, key);
  if (node == nullptr) return fallback_or_missing(*state_, key, fallback);
  if (const auto value = node->value_exact<bool>()) return *value;
  refuse_type(*state_, key, *node, "true or false", "write it without quotes");
}

std::int64_t TomlTable::integer(std::string_view key, std::optional<std::int64_t> fallback) const {
  const toml::node* node = find(*state_, key);
  if (node == nullptr) return fallback_or_missing(*state_, key, fallback);
  if (const auto value = node->value_exact<std::int64_t>()) return *value;
  refuse_type(*state_, key, *node, "an integer",
              "write a whole number without quotes or decimal point");
}

double TomlTable::number(std::string_view key, std::optional<double> fallback) const {
  const toml::node* node = find(*state_, key);
  if (node == nullptr) return fallback_or_missing(*state_, key, fallback);
  if (!node->is_number()) refuse_type(*state_, key, *node, "a number", "write it without quotes");
  // The library converts no integer that a double has only nearly.
  const auto whole = node->value_exact<std::int64_t>();
  const double value = whole ? static_cast<double>(*whole) : *node->value_exact<double>();
  if (!std::isfinite(value))
    refuse(key, fmt::format("{} is {}", full_name(key), value), "it has to be finite",
           "write a finite number");
  return value + 0.0;  // -0.0 is 0.0
}

double TomlTable::quantity(std::string_view key, Quantity quantity,
                           std::optional<double> fallback) const {
  const toml::node* node = find(*state_, key);
  if (node == nullptr) return fallback_or_missing(*state_, key, fallback);
  if (node->is_number()) return number(key);
  const auto text = node->value_exact<std::string>();
  const std::string units = fmt::format("write a number and one of {}", accepted_units(quantity));
  if (!text) refuse_type(*state_, key, *node, "a string with a unit or a bare number", units);
  const std::optional<double> value = parse_quantity(*text, quantity);
  if (!value) {
    const QuantityProblem problem = problem_of_quantity(*text, quantity);
    refuse(key, fmt::format("{} = \"{}\" is not understood", full_name(key), *text), problem.reason,
           problem.suggestion);
  }
  return *value + 0.0;  // -0.0 is 0.0
}

std::optional<std::int64_t> TomlTable::integer_or_auto(std::string_view key,
                                                       std::optional<std::int64_t> fallback) const {
  const toml::node* node = find(*state_, key);
  if (node == nullptr) return fallback;
  if (const auto value = node->value_exact<std::int64_t>()) return *value;
  const auto text = node->value_exact<std::string>();
  if (text && *text == "auto") return std::nullopt;
  if (text) {
    refuse(key, fmt::format("{} is \"{}\"", full_name(key), *text),
           "it has to be an integer or \"auto\"",
           nearest_name(*text, {"auto"}).empty() ? "write a whole number without quotes"
                                                 : "write \"auto\"");
  }
  refuse_type(*state_, key, *node, "an integer or \"auto\"", "write a whole number or \"auto\"");
}

std::optional<bool> TomlTable::flag_or_auto(std::string_view key) const {
  const toml::node* node = find(*state_, key);
  const auto text = node == nullptr ? std::nullopt : node->value_exact<std::string>();
  if (!text) return boolean(key);
  if (*text == "auto") return std::nullopt;
  refuse(key, fmt::format("{} is \"{}\"", full_name(key), *text),
         "it has to be true, false or \"auto\"",
         nearest_name(*text, {"auto"}).empty() ? "write true or false without quotes"
                                               : "write \"auto\"");
}

std::optional<double> TomlTable::number_or(std::string_view key, const std::string& keyword) const {
  const toml::node* node = find(*state_, key);
  const auto text = node == nullptr ? std::nullopt : node->value_exact<std::string>();
  if (!text) return number(key);
  if (*text == keyword) return std::nullopt;
  refuse(key, fmt::format("{} is \"{}\"", full_name(key), *text),
         fmt::format("it has to be a number or \"{}\"", keyword),
         nearest_name(*text, {keyword}).empty() ? "write a number without quotes"
                                                : fmt::format("write \"{}\"", keyword));
}

std::string TomlTable::name(std::string_view key, const std::vector<std::string>& names,
                            std::optional<std::string> fallback) const {
  const std::string value = string(key, std::move(fallback));
  if (std::find(names.begin(), names.end(), value) != names.end()) return value;
  refuse(key, fmt::format("{} = \"{}\" is not known", full_name(key), value),
         "it is one of " + join(names), did_you_mean(value, names, "write one of these"));
}

std::vector<std::string> TomlTable::strings(std::string_view key) const {
  const toml::node* node = find(*state_, key);
  if (node == nullptr) return {};
  if (const auto value = node->value_exact<std::string>()) return {*value};
  if (!node->is_array())
    refuse_type(*state_, key, *node, "a string or an array of strings", "put it in quotes");
  std::vector<std::string> values;
  for (const toml::node& element : *node->as_array()) {
    const auto value = element.value_exact<std::string>();
    if (!value)
      refuse_type(*state_, fmt::format("{}[{}]", key, values.size()), element, "a string",
                  "put it in quotes");
    values.push_back(*value);
  }
  return values;
}

std::vector<std::int64_t> TomlTable::integers(std::string_view key) const {
  const toml::node* node = find(*state_, key);
  if (node == nullptr) return {};
  if (!node->is_array())
    refuse_type(*state_, key, *node, "an array of integers", "write [1, 2, ...]");
  std::vector<std::int64_t> values;
  for (const toml::node& element : *node->as_array()) {
    const auto value = element.value_exact<std::int64_t>();
    if (!value)
      refuse_type(*state_, fmt::format("{}[{}]", key, values.size()), element, "an integer",
                  "write a whole number without quotes or decimal point");
    values.push_back(*value);
  }
  return values;
}

std::optional<TomlTable> TomlTable::table(std::string_view key) const {
  const toml::node* node = find(*state_, key);
  if (node == nullptr) return std::nullopt;
  if (!node->is_table())
    refuse_type(*state_, key, *node, "a table", fmt::format("write [{}]", full_name(key)));
  return child(*state_, key, *node->as_table());
}

std::vector<TomlTable> TomlTable::tables(std::string_view key) const {
  const toml::node* node = find(*state_, key);
  if (node == nullptr) return {};
  const std::string suggestion = fmt::format("write [[{}]]", full_name(key));
  if (!node->is_array()) refuse_type(*state_, key, *node, "an array of tables", suggestion);
  std::vector<TomlTable> tables;
  for (const toml::node& element : *node->as_array()) {
    if (!element.is_table()) refuse_type(*state_, key, element, "a table", suggestion);
    tables.push_back(child(*state_, key, *element.as_table()));
  }
  return tables;
}

void TomlTable::finish(const Advice& advice) const {
  const std::vector<std::string> known(state_->known.begin(), state_->known.end());
  const toml::node* first = nullptr;
  std::string name;
  for (const auto& [key, node] : *state_->table) {
    if (state_->known.contains(std::string(key.str()))) continue;
    if (first != nullptr && node.source().begin.line >= first->source().begin.line) continue;
    first = &node;
    name = key.str();
  }
  if (first == nullptr) return;
  const std::string place = place_of(*first, state_->source);
  const std::string advised = advice ? advice(name) : "";
  if (!advised.empty())
    throw_bad_input({place, fmt::format("{} is not known", full_name(name)), "", advised});
  const std::string near = nearest_name(name, known);
  throw_bad_input({place, fmt::format("{} is not known", full_name(name)),
                   near.empty() ? "known here: " + join(known) : "",
                   near.empty() ? "remove it" : fmt::format("did you mean {}?", full_name(near))});
}

void TomlTable::finish(const KeyTable& described) const {
  const std::vector<std::string> names = described.names();
  PPTRAIN_ASSERT(std::set<std::string>(names.begin(), names.end()) == state_->known,
                 "keys of {} that are read are not those that are described", described.path);
  finish();
}

void TomlTable::refuse(std::string_view key, const std::string& problem, const std::string& reason,
                       const std::string& suggestion) const {
  throw_bad_input({where(key), problem, reason, suggestion});
}

}  // namespace pptrain
