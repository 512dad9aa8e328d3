#include "base/json_levels.hpp"

#include "support/complaint.hpp"

namespace pptrain {
namespace {

std::string nested(std::size_t levels) {
  return std::string(levels, '[') + std::string(levels, ']');
}

TEST_CASE("levels of JSON are counted outside of strings", "[json_levels]") {
  CHECK_FALSE(find_json_beyond(nested(32)));
  CHECK(find_json_beyond(nested(33)) == 32U);
  CHECK(find_json_beyond(nested(100000)) == 32U);
  CHECK_FALSE(find_json_beyond("{\"" + std::string(100, '[') + "\": \"\\\"" +
                               std::string(100, '{') + "\"}"));
  CHECK_FALSE(find_json_beyond(R"(["\\", [["]]]"]]])", 3));
  CHECK(find_json_beyond(R"(["\\", [["]]]", [0]]]])", 3) == 16U);
  std::string beside = "[";
  for (int i = 0; i < 100; ++i) beside += R"({"a": [1, {"b": []}]},)";
  CHECK_FALSE(find_json_beyond(beside, 6));
  CHECK(find_json_beyond(beside, 4));
}

TEST_CASE("a text with too many levels is refused by its line", "[json_levels]") {
  CHECK(complaint_of([] {
          check_json_levels("[\n[\n" + nested(40), "a.json", "write it again");
        }) == "a.json:3: has more than 32 levels (no such file is that deep); write it again");
  check_json_levels(nested(32), "a.json", "write it again");
}

TEST_CASE("keys are refused where comparing them would take long, in one object or in many",
          "[json_levels]") {
  const auto read = [](std::size_t objects, std::size_t keys) {
    JsonKeyCount count;
    for (std::size_t i = 0; i < objects; ++i) {
      for (std::size_t k = 0; k < keys; ++k) count.add(k, "a.json", "write it again");
    }
  };
  read(1, 44'721);
  CHECK(complaint_of([&] { read(1, 44'722); }) ==
        "a.json: has too many keys, 44722 of one object (no such file has so many, and the time to "
        "read them grows with "
        "their square); write it again");
  read(200, 3'000);
  CHECK_THAT(complaint_of([&] { read(300, 3'000); }), Catch::Contains("has too many keys"));
}

TEST_CASE("the reason of the parser comes without codes and places, and is short",
          "[json_levels]") {
  CHECK(
      json_reason(
          "[json.exception.parse_error.101] parse error at line 1, column 2: syntax error: a: b") ==
      "syntax error: a: b");
  CHECK(json_reason("[json.exception.out_of_range.406] number overflow parsing '1e999'") ==
        "number overflow parsing '1e999'");
  CHECK(json_reason("another message") == "another message");
  CHECK(json_reason("at column 1: " + std::string(100000, 'x')).size() < 1000);
}

}  // namespace
}  // namespace pptrain
