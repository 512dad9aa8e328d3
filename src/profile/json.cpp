#include "profile/json.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include "base/error.hpp"
#include "base/json_levels.hpp"
#include "base/names.hpp"
#include "base/open_file.hpp"

namespace pptrain {
namespace {

std::string place(const std::string& source, const std::string& text, std::size_t byte) {
  const auto end = text.begin() + static_cast<std::ptrdiff_t>(std::min(byte, text.size()));
  return fmt::format("{}:{}", source, 1 + std::count(text.begin(), end, '\n'));
}

/// Remembers the keys of every open object, since the library keeps only the last of equal keys,
/// and refuses too many.
class DuplicateKeys {
 public:
  explicit DuplicateKeys(const std::string& source) : source_(source) {}

  bool operator()(int /*depth*/, Json::parse_event_t event, Json& parsed) {
    using Event = Json::parse_event_t;
    if (event == Event::object_start) open_.emplace_back();
    if (event == Event::object_end) open_.pop_back();
    if (event == Event::key) add_key(parsed.get_ref<const std::string&>());
    return true;
  }

 private:
  void add_key(const std::string& key) {
    count_.add(open_.back().size(), source_, "write the file again");
    if (open_.back().insert(key).second) return;
    throw_bad_input({source_, fmt::format("the key \"{}\" appears twice in one object", key), "",
                     "keep one of them"});
  }

  std::string source_;
  JsonKeyCount count_;
  std::vector<std::set<std::string>> open_;
};

constexpr std::size_t line_width = 140;
constexpr double largest_amount = 1e18;  // with which no sum of costs leaves what a double holds

void format_value(const Json& value, std::size_t indent, std::string& out) {
  const std::string compact = value.dump();
  if (!value.is_structured() || value.empty() || indent + compact.size() <= line_width) {
    out += compact;
    return;
  }
  const std::string margin(indent + 1, ' ');
  out += value.is_object() ? '{' : '[';
  bool first = true;
  for (const auto& [key, member] : value.items()) {
    out += first ? "\n" : ",\n";
    out += margin;
    if (value.is_object()) out += Json(key).dump() + ": ";
    format_value(member, indent + 1, out);
    first = false;
  }
  out += value.is_object() ? "}" : "]";
}

}  // namespace

std::string read_text_file(const std::string& path) {
  return read_text(path, {path, "cannot read the file", "", "check the path and its permissions"});
}

Json parse_json(const std::string& text, const std::string& source, const std::string& suggestion) {
  check_json_levels(text, source, "write the file again");
  try {
    return Json::parse(text, DuplicateKeys(source));
  } catch (const Json::parse_error& error) {
    const std::size_t first = text.find_first_not_of(" \t\r\n");
    const bool begins_so = first != std::string::npos && text[first] == '{';
    throw_bad_input(
        {place(source, text, error.byte), "this is not JSON", json_reason(error.what()),
         !suggestion.empty() ? suggestion
         : begins_so         ? "correct it at that place, or write the file again"
                     : "give a file that `pptrain plan -o` or `pptrain profile -o` has written"});
  } catch (const Json::exception& error) {
    throw_bad_input(
        {source, "a number is out of range", json_reason(error.what()), "give a finite number"});
  }
}

std::string format_json(const Json& document) {
  std::string out;
  format_value(document, 0, out);
  return out + "\n";
}

Json json_number(double value) {
  constexpr double exact = 9007199254740992.0;  // 2^53: whole doubles up to here are exact as
                                                // integers
  if (std::trunc(value) == value && std::abs(value) <= exact &&
      !(value == 0.0 && std::signbit(value))) {
    return static_cast<std::int64_t>(value);
  }
  return value;
}

void JsonNode::allow_keys(const std::vector<std::string>& known) const {
  for (const std::string& key : keys()) {
    if (std::find(known.begin(), known.end(), key) != known.end()) continue;
    refuse(fmt::format("unknown key \"{}\"", key), "",
           did_you_mean(key, known, "known keys: " + join(known)));
  }
}

bool JsonNode::has(const std::string& key) const {
  return value_->is_object() && value_->contains(key);
}

JsonNode JsonNode::at(const std::string& key) const {
  if (!value_->is_object())
    refuse("must be an object", "it is " + text(), "write {\"key\": value, ...}");
  const std::string path = path_.empty() ? key : path_ + "." + key;
  const auto member = value_->find(key);
  if (member == value_->end())
    throw_bad_input({source_ + ": " + path, "is missing", "", "add this key"});
  return JsonNode(*member, source_, path);
}

std::vector<JsonNode> JsonNode::elements() const {
  if (!value_->is_array()) refuse("must be an array", "it is " + text(), "write [value, ...]");
  std::vector<JsonNode> nodes;
  nodes.reserve(value_->size());
  for (const Json& element : *value_)
    nodes.push_back(JsonNode(element, source_, fmt::format("{}[{}]", path_, nodes.size())));
  return nodes;
}

std::vector<std::string> JsonNode::keys() const {
  if (!value_->is_object())
    refuse("must be an object", "it is " + text(), "write {\"key\": value, ...}");
  std::vector<std::string> names;
  for (const auto& [key, member] : value_->items()) names.push_back(key);
  return names;
}

std::string JsonNode::string() const {
  if (!value_->is_string()) refuse("must be a string", "it is " + text(), "put it in quotes");
  return value_->get<std::string>();
}

bool JsonNode::boolean() const {
  if (!value_->is_boolean())
    refuse("must be true or false", "it is " + text(), "write it without quotes");
  return value_->get<bool>();
}

double JsonNode::number() const {
  if (!value_->is_number())
    refuse("must be a number", "it is " + text(), "write it without quotes");
  const double value = value_->get<double>();
  if (!std::isfinite(value))
    refuse("must be a finite number", "it is " + text(), "give a finite one");
  return value;
}

double JsonNode::number_at_least(double minimum) const {
  const double value = number();
  if (value < minimum)
    refuse(fmt::format("must be at least {}", minimum), "it is " + text(), "correct the value");
  if (value > largest_amount) {
    refuse(fmt::format("must be at most {}", largest_amount), "it is " + text(),
           "no machine has so much: correct the value");
  }
  return value;
}

std::int64_t JsonNode::integer() const {
  // 2^53, which 2^53 + 1 is as a double too: what is smaller is in the file as it is here.
  constexpr double limit = 9007199254740992.0;
  const double value = number();
  if (std::trunc(value) != value) refuse("must be a whole number", "it is " + text(), "round it");
  if (std::abs(value) >= limit) refuse("is too large", "it is " + text(), "correct the value");
  return static_cast<std::int64_t>(value);
}

std::int64_t JsonNode::integer_at_least(std::int64_t minimum) const {
  const std::int64_t value = integer();
  if (value < minimum)
    refuse(fmt::format("must be at least {}", minimum), fmt::format("it is {}", value),
           "correct the value");
  return value;
}

int JsonNode::small_integer_at_least(int minimum) const {
  const std::int64_t value = integer_at_least(minimum);
  if (value > std::numeric_limits<int>::max())
    refuse("is too large", fmt::format("it is {}", value), "correct the value");
  return static_cast<int>(value);
}

void JsonNode::refuse(const std::string& problem, const std::string& reason,
                      const std::string& suggestion) const {
  throw_bad_input({path_.empty() ? source_ : source_ + ": " + path_, problem, reason, suggestion});
}

std::string JsonNode::text() const {
  std::string dump = value_->dump();
  if (dump.size() > 40) dump = dump.substr(0, 37) + "...";
  return dump;
}

}  // namespace pptrain
