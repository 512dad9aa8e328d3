#include "config/keys.hpp"

#include <set>

#include "config/ranges.hpp"
#include "config/texts.hpp"
#include "config/toml_reader.hpp"
#include "support/catch.hpp"

namespace pptrain {
namespace {

/// Notes what is visited, and leaves all values as they are.
class Recorder : public KeyVisitor {
 public:
  std::vector<std::string> sections;
  std::set<std::string> keys;  ///< of sections, as "training.steps"
  int elements_seen = 0;

  void begin_section(const Key& section) override {
    CHECK(section_.empty());
    CHECK_FALSE(section.description.empty());
    section_ = section.name;
    sections.push_back(section.name);
  }
  void end_section() override { section_.clear(); }
  void text(const Key& key, std::string& /*value*/) override { note(key); }
  void texts(const Key& key, std::vector<std::string>& /*values*/) override { note(key); }
  void input_path(const Key& key, std::string& /*value*/, const std::string& /*word*/) override {
    note(key);
  }
  void input_paths(const Key& key, std::vector<std::string>& /*values*/,
                   const std::string& /*word*/) override {
    note(key);
  }
  void flag(const Key& key, bool& /*value*/) override { note(key); }
  void flag_or_auto(const Key& key, AutoFlag& /*value*/) override { note(key); }
  void integer(const Key& key, std::int64_t& value, const Range& range) override {
    note(key);
    CHECK(range.contains(static_cast<double>(value)));
  }
  void integers(const Key& key, std::vector<std::int64_t>& /*values*/,
                const Range& /*range*/) override {
    note(key);
  }
  void integer_or_auto(const Key& key, AutoInt& /*value*/, const Range& /*range*/) override {
    note(key);
  }
  void number_or(const Key& key, std::optional<double>& /*value*/, const std::string& /*word*/,
                 const Range& /*range*/) override {
    note(key);
  }
  void number(const Key& key, double& value, const Range& range) override {
    note(key);
    CHECK(range.contains(value));
  }
  void seconds(const Key& key, double& value, const Range& range) override {
    note(key);
    CHECK(range.contains(value));
  }
  void name(const Key& key, std::string& value, const std::vector<std::string>& names) override {
    note(key);
    CHECK(std::count(names.begin(), names.end(), value) == 1);
    if (key.name == rename) value = renamed;
  }
  void interval(const Key& key, Interval& /*value*/) override { note(key); }
  std::size_t elements(const Key& key, std::size_t size) override {
    note(key);
    return size;
  }
  void begin_element(const std::string& /*key*/, std::size_t /*index*/) override {
    CHECK_FALSE(std::exchange(in_element_, true));
    ++elements_seen;
  }
  void end_element() override { in_element_ = false; }

  std::string rename;   ///< the key whose value is set
  std::string renamed;  ///< the value that it is set to

 private:
  void note(const Key& key) {
    INFO(section_ << ": " << key.name);
    CHECK_FALSE(section_.empty());
    CHECK_FALSE(key.description.empty());
    if (!in_element_) CHECK(keys.insert(section_ + "." + key.name).second);
  }

  std::string section_;
  bool in_element_ = false;
};

TEST_CASE("sections are visited in the order of the file, each key once, with a default in range",
          "[config]") {
  Config config = test::parse("");
  Recorder recorder;
  visit_keys(recorder, config);
  CHECK(recorder.sections == std::vector<std::string>{"job", "model", "data", "training",
                                                      "optimizer", "lr_scheduler", "parallelism",
                                                      "cluster", "planner", "profile", "checkpoint",
                                                      "metrics"});
  // What is visited is what is written.
  const TomlTable file = parse_toml(write_config(config), "written");
  int missing = 0;
  for (const std::string& key : recorder.keys) {
    const std::size_t dot = key.find('.');
    if (!file.table(key.substr(0, dot))->has(key.substr(dot + 1))) ++missing;
  }
  CHECK(recorder.keys.size() > 80);
  CHECK(missing == 3);  // lists of tables without an element: layer, annotate, mix
}

TEST_CASE("a visitor that changes nothing leaves a configuration as it is", "[config]") {
  Config config = test::parse(test::everything);
  const std::string written = write_config(config);
  Recorder recorder;
  visit_keys(recorder, config);
  CHECK(write_config(config) == written);
  CHECK(recorder.elements_seen == 2);  // of model.annotate
}

TEST_CASE("a key of an enumeration is visited by its name", "[config]") {
  Config config;
  Recorder recorder;
  recorder.rename = "precision";
  recorder.renamed = "fp16";
  visit_keys(recorder, config);
  CHECK(config.training.precision == Precision::fp16);
  Recorder other;
  other.rename = "precision";
  other.renamed = "fp17";  // no value has it
  visit_keys(other, config);
  CHECK(config.training.precision == Precision::fp16);
}

TEST_CASE("a range has its ends but where it is open, and no number that is none", "[config]") {
  const Range closed = {.least = 1.0, .most = 3.0};
  CHECK((closed.contains(1.0) && closed.contains(3.0)));
  CHECK_FALSE((closed.contains(0.999) || closed.contains(3.001)));
  const Range open = {.least = 1.0, .most = 3.0, .least_open = true, .most_open = true};
  CHECK((open.contains(1.001) && open.contains(2.999)));
  CHECK_FALSE((open.contains(1.0) || open.contains(3.0)));
  constexpr double infinity = std::numeric_limits<double>::infinity();
  for (const double none : {infinity, -infinity, std::numeric_limits<double>::quiet_NaN()})
    CHECK_FALSE(Range().contains(none));
}

TEST_CASE("a range is described without the limit that is there for typing errors", "[config]") {
  CHECK(at_least(1).describe() == "at least 1");
  CHECK_FALSE(at_least(1).contains(3e9));
  CHECK(positive().describe() == "more than 0");
  CHECK(below_one("").describe() == "at least 0 and less than 1");
  CHECK(between(0, 3).describe() == "at least 0 and at most 3");
  CHECK(Range{.most = 0.5, .most_open = true}.describe() == "less than 0.5");
}

}  // namespace
}  // namespace pptrain
