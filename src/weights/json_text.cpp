#include "weights/json_text.hpp"

#include <fmt/format.h>

#include <cstddef>
#include <iterator>
#include <set>
#include <vector>

#include "base/error.hpp"
#include "base/json_levels.hpp"
#include "base/mapped_file.hpp"

namespace pptrain {
namespace {

using OrderedJson = nlohmann::ordered_json;

constexpr std::size_t max_text_bytes = 100'000'000;

/// Characters of a text that count the lines that the parser has come through, which the library
/// does not tell.
class CountingIterator {
 public:
  using iterator_category = std::input_iterator_tag;
  using value_type = char;
  using difference_type = std::ptrdiff_t;
  using pointer = const char*;
  using reference = const char&;

  CountingIterator(const char* at, std::int64_t* line) : at_(at), line_(line) {}
  reference operator*() const { return *at_; }
  CountingIterator& operator++() {
    if (*at_++ == '\n') ++*line_;
    return *this;
  }
  CountingIterator operator++(int) {
    CountingIterator before = *this;
    ++*this;
    return before;
  }
  bool operator==(const CountingIterator& other) const { return at_ == other.at_; }
  bool operator!=(const CountingIterator& other) const { return at_ != other.at_; }

 private:
  const char* at_;
  std::int64_t* line_;
};

/// Follows the parser: notes the line of each key in the order of the text, and refuses keys that
/// come twice, of which the library would keep one, and too many of them.
class KeyEvents {
 public:
  KeyEvents(const std::string& source, const std::int64_t& line, const std::string& suggestion)
      : source_(source), line_(line), suggestion_(suggestion) {}

  bool operator()(OrderedJson::parse_event_t event, const OrderedJson& parsed) {
    using Event = OrderedJson::parse_event_t;
    if (event == Event::object_start) open_.emplace_back();
    if (event == Event::object_end) open_.pop_back();
    if (event == Event::key) add_key(parsed.get_ref<const std::string&>());
    return true;
  }

  const std::vector<std::int64_t>& lines() const { return lines_; }
  std::string place() const { return fmt::format("{}:{}", source_, line_); }

 private:
  void add_key(const std::string& key) {
    count_.add(open_.back().size(), source_, suggestion_);
    if (!open_.back().insert(key).second) {
      throw_bad_input({place(), fmt::format("the key \"{}\" comes twice in one object", key),
                       "one of them would be without effect", "keep one of them"});
    }
    lines_.push_back(line_);
  }

  const std::string& source_;
  const std::int64_t& line_;
  const std::string& suggestion_;
  JsonKeyCount count_;
  std::vector<std::set<std::string>> open_;
  std::vector<std::int64_t> lines_;
};

/// Gives the values behind keys their lines, in the order of the text.
void assign_lines(const OrderedJson& value, std::vector<std::int64_t>::const_iterator& line,
                  JsonText& text) {
  if (value.is_array()) {
    for (const OrderedJson& element : value) assign_lines(element, line, text);
  }
  if (!value.is_object()) return;
  for (const auto& member : value.items()) {
    text.lines.emplace(&member.value(), *line++);
    assign_lines(member.value(), line, text);
  }
}

}  // namespace

JsonText parse_json_text(const std::string& text, const std::string& source,
                         const std::string& suggestion) {
  if (text.size() > max_text_bytes) {
    throw_bad_input({source, fmt::format("has {} bytes", text.size()),
                     fmt::format("{} are the limit for such a file", max_text_bytes), suggestion});
  }
  check_json_levels(text, source, suggestion);
  std::int64_t line = 1;
  KeyEvents events(source, line, suggestion);
  JsonText result;
  try {
    result.object = OrderedJson::parse(CountingIterator(text.data(), &line),
                                       CountingIterator(text.data() + text.size(), &line),
                                       [&](int /*depth*/, OrderedJson::parse_event_t event,
                                           OrderedJson& parsed) { return events(event, parsed); });
  } catch (const OrderedJson::exception& error) {
    throw_bad_input({events.place(), "is no JSON", json_reason(error.what()), suggestion});
  }
  if (!result.object.is_object())
    throw_bad_input({source, "holds no JSON object", "keys are expected", suggestion});
  auto next = events.lines().begin();
  assign_lines(result.object, next, result);
  return result;
}

JsonText read_json_text(const std::string& path, const std::string& suggestion) {
  const MappedFile file(path, "");
  return parse_json_text({reinterpret_cast<const char*>(file.bytes().data()), file.bytes().size()},
                         path, suggestion);
}

}  // namespace pptrain
