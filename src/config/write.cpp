#include <fmt/format.h>

#include "base/names.hpp"
#include "config/keys.hpp"
#include "config/read.hpp"
#include "config/toml_reader.hpp"

namespace pptrain {
namespace {

/// A float as TOML: the shortest digits that read back to the same value, never an integer.
std::string float_text(double value) {
  std::string text = fmt::format("{}", value);
  if (text.find_first_of(".e") == std::string::npos) text += ".0";
  return text;
}

std::string quoted_list(const std::vector<std::string>& values) {
  std::string text;
  for (const std::string& value : values) text += (text.empty() ? "" : ", ") + quote_toml(value);
  return "[" + text + "]";
}

class Writer : public KeyVisitor {
 public:
  std::string text_written() && { return std::move(text_); }

  void begin_section(const Key& section) override {
    section_ = section.name;
    text_ += fmt::format("{}[{}]\n", text_.empty() ? "" : "\n", section.name);
  }
  void end_section() override {}
  void text(const Key& key, std::string& value) override { line(key, quote_toml(value)); }
  void texts(const Key& key, std::vector<std::string>& values) override {
    line(key, quoted_list(values));
  }
  void input_path(const Key& key, std::string& value, const std::string&) override {
    line(key, quote_toml(value));
  }
  void input_paths(const Key& key, std::vector<std::string>& values, const std::string&) override {
    line(key, values.size() == 1 ? quote_toml(values[0]) : quoted_list(values));
  }
  void flag(const Key& key, bool& value) override { line(key, value ? "true" : "false"); }
  void flag_or_auto(const Key& key, AutoFlag& value) override {
    line(key, !value ? "\"auto\"" : *value ? "true" : "false");
  }
  void integer(const Key& key, std::int64_t& value, const Range&) override {
    line(key, std::to_string(value));
  }
  void integers(const Key& key, std::vector<std::int64_t>& values, const Range&) override {
    std::vector<std::string> texts;
    for (const std::int64_t value : values) texts.push_back(std::to_string(value));
    line(key, "[" + join(texts) + "]");
  }
  void integer_or_auto(const Key& key, AutoInt& value, const Range&) override {
    line(key, value ? std::to_string(*value) : "\"auto\"");
  }
  void number_or(const Key& key, std::optional<double>& value, const std::string& keyword,
                 const Range&) override {
    line(key, value ? float_text(*value) : quote_toml(keyword));
  }
  void number(const Key& key, double& value, const Range&) override {
    line(key, float_text(value));
  }
  void seconds(const Key& key, double& value, const Range&) override {
    line(key, fmt::format("\"{} s\"", value));
  }
  void name(const Key& key, std::string& value, const std::vector<std::string>&) override {
    line(key, quote_toml(value));
  }
  void interval(const Key& key, Interval& value) override {
    line(key, fmt::format("[{}, {}]", value.begin, value.end));
  }
  std::size_t elements(const Key&, std::size_t size) override { return size; }
  void begin_element(const std::string& key, std::size_t) override {
    text_ += fmt::format("\n[[{}.{}]]\n", section_, key);
  }
  void end_element() override {}

 private:
  void line(const Key& key, const std::string& value) {
    text_ += fmt::format("{} = {}\n", key.name, value);
  }

  std::string section_;
  std::string text_;
};

}  // namespace

std::string write_config(const Config& config) {
  Config copy = config;  // visitors may change what they visit
  Writer writer;
  visit_keys(writer, copy);
  return std::move(writer).text_written();
}

}  // namespace pptrain
