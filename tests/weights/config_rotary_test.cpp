#include "weights/config_rotary.hpp"

#include <fstream>
#include <iterator>

#include "support/catch.hpp"
#include "support/complaint.hpp"
#include "weights/reference_folders.hpp"

namespace pptrain {
namespace {

namespace fs = std::filesystem;

ConfigJson parsed(const std::string& text) { return ConfigJson::parse(text, "m/config.json"); }

TEST_CASE("rotary positions are read in the spelling of transformers 4 and 5", "[config_json]") {
  const auto rotary = [](const std::string& text) { return read_rotary(parsed(text), 5e5); };
  const RotaryConfig newer =
      rotary(R"({"rope_parameters": {"rope_type": "linear", "rope_theta": 100.0, "factor": 4.0}})");
  const RotaryConfig older =
      rotary(R"({"rope_theta": 100.0, "rope_scaling": {"type": "linear", "factor": 4.0}})");
  const RotaryConfig between = rotary(
      R"({"rope_theta": 100, "rope_scaling": {"type": "linear", "rope_type": "linear", "factor": 4.0}})");
  for (const RotaryConfig& one : {newer, older, between}) {
    CHECK(one.type == "linear");
    CHECK(one.theta == 100.0);
    REQUIRE(one.details.has_value());
    CHECK(one.details->number("factor") == 4.0);
    one.details->finish();
  }
  const RotaryConfig plain = rotary(R"({"rope_scaling": null})");
  CHECK(plain.type == "default");
  CHECK(plain.theta == 5e5);
  CHECK_FALSE(plain.details.has_value());
  CHECK(read_rotary(parsed(R"({"rotary_emb_base": 7})"), 1.0, "rotary_emb_base").theta == 7.0);
  const auto refusal = [&](const std::string& text) { return complaint_of([&] { rotary(text); }); };
  CHECK_THAT(refusal(R"({"rope_scaling": {"type": "linear", "rope_type": "yarn"}})"),
             Catch::Contains("rope_scaling.type: is \"linear\""));
  CHECK_THAT(refusal(R"({"rope_parameters": {}, "rope_scaling": {}})"),
             Catch::Contains("stands beside rope_parameters"));
}

void check_alike(const RotaryConfig& a, const RotaryConfig& b) {
  CHECK(a.theta == b.theta);
  CHECK(a.type == b.type);
  if (b.details && b.type != "default")
    CHECK(a.details->number("factor") == b.details->number("factor"));
}

TEST_CASE("both spellings of a configuration say the same of positions", "[config_json]") {
  int num_pairs = 0;
  for (const fs::path& folder : reference_folders()) {
    const fs::path older_path = folder / "config-v4.json";
    if (!fs::exists(older_path)) continue;
    INFO(folder.string());
    std::ifstream stream(older_path);
    const std::string text{std::istreambuf_iterator<char>(stream),
                           std::istreambuf_iterator<char>()};
    const ConfigJson newer = ConfigJson::read(folder.string()),
                     older = ConfigJson::parse(text, "config-v4.json");
    if (!newer.has("rope_parameters")) continue;
    ++num_pairs;
    if (newer.object("rope_parameters").has("full_attention")) {  // each kind of layers has
                                                                  // positions of its own
      const auto of_kind = [](const ConfigJson& config, bool full) {
        return read_rotary_of_kind(config, full ? "full_attention" : "sliding_attention", 0.0,
                                   full ? "rope_theta" : "rope_local_base_freq", full);
      };
      for (const bool full : {true, false}) check_alike(of_kind(newer, full), of_kind(older, full));
      continue;
    }
    const char* theta_key =
        newer.text("model_type") == "gpt_neox" ? "rotary_emb_base" : "rope_theta";
    check_alike(read_rotary(newer, 0.0), read_rotary(older, 0.0, theta_key));
  }
  CHECK(num_pairs > 3);
}

TEST_CASE("kinds of layers have positions of their own in either spelling", "[config_json]") {
  const ConfigJson newer = parsed(R"({"rope_parameters": {
      "full": {"rope_type": "linear", "rope_theta": 100.0, "factor": 8.0},
      "sliding": {"rope_theta": 7.0}}})");
  const ConfigJson older = parsed(R"({"rope_theta": 100.0, "rope_local_base_freq": 7.0,
      "rope_scaling": {"rope_type": "linear", "factor": 8.0}})");
  for (const ConfigJson& config : {newer, older}) {
    const RotaryConfig full = read_rotary_of_kind(config, "full", 1.0, "rope_theta", true);
    CHECK((full.type == "linear" && full.theta == 100.0));
    REQUIRE(full.details.has_value());
    CHECK(full.details->number("factor") == 8.0);
    const RotaryConfig sliding =
        read_rotary_of_kind(config, "sliding", 1.0, "rope_local_base_freq", false);
    CHECK((sliding.type == "default" && sliding.theta == 7.0));
    config.finish();
  }
}

TEST_CASE("a kind of layers that is left out has the family's default", "[config_json]") {
  for (const char* text : {R"({"rope_parameters": {"full": {"rope_theta": 100.0}}})", "{}"}) {
    const RotaryConfig sliding =
        read_rotary_of_kind(parsed(text), "sliding", 3.0, "rope_local_base_freq", false);
    CHECK((sliding.type == "default" && sliding.theta == 3.0 && !sliding.details));
  }
}

TEST_CASE("the base of positions at the top counts where rope_parameters have none",
          "[config_json]") {
  const auto theta = [](const std::string& text) {
    const ConfigJson config = parsed(text);
    const double read = read_rotary(config, 5e5).theta;
    config.finish();
    return read;
  };
  CHECK(theta(R"({"rope_parameters": {"rope_type": "default"}, "rope_theta": 3.0})") == 3.0);
  CHECK(theta(R"({"rope_parameters": {"rope_theta": 2.0}, "rope_theta": 3.0})") == 2.0);
  CHECK(theta(R"({"rope_parameters": {"rope_theta": null}, "rope_theta": 3.0})") == 3.0);
  CHECK(theta(R"({"rope_parameters": {}})") == 5e5);
  const auto theta_of_sliding = [](const std::string& text) {
    return read_rotary_of_kind(parsed(text), "sliding", 3.0, "rope_local_base_freq", false).theta;
  };
  CHECK(theta_of_sliding(R"({"rope_parameters": {"sliding": {"rope_theta": 7.0}},
                             "rope_local_base_freq": 8.0})") == 7.0);
  CHECK(theta_of_sliding(R"({"rope_parameters": {"sliding": {}}, "rope_local_base_freq": 8.0})") ==
        8.0);
}

}  // namespace
}  // namespace pptrain
