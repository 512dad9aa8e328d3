#include "profile/json.hpp"

#include <cmath>

#include "support/catch.hpp"
#include "support/complaint.hpp"

namespace pptrain {
namespace {

std::string refusal(const std::string& text, const std::string& suggestion = "") {
  return complaint_of([&] { parse_json(text, "f.json", suggestion); });
}

TEST_CASE("what is no JSON is refused with what to do about such a file", "[json]") {
  CHECK(refusal("{\n\n\"a\": }").starts_with("f.json:3: this is not JSON ("));
  CHECK(refusal("{\"a\": }").ends_with("; correct it at that place, or write the file again"));
  CHECK(refusal("a = 1").ends_with(
      "; give a file that `pptrain plan -o` or `pptrain profile -o` has written"));
  CHECK(refusal("{", "let its planner write it").ends_with("; let its planner write it"));
  CHECK(refusal("[1e999]").starts_with("f.json: a number is out of range ("));
}

TEST_CASE("a key appears once in an object, and in others too", "[json]") {
  CHECK(refusal("{\"a\": {\"b\": 1}, \"c\": [{\"a\": 1}, {\"a\": 2}]}") == "nothing was refused");
  CHECK(refusal("{\"a\": {\"b\": 1}, \"c\": 2, \"a\": 1}") ==
        "f.json: the key \"a\" appears twice in one object; keep one of them");
}

TEST_CASE("numbers are as short as reading them back allows, whole ones without a point",
          "[json]") {
  CHECK(json_number(3.0).dump() == "3");
  CHECK(json_number(-2.0).dump() == "-2");
  CHECK(json_number(0.1).dump() == "0.1");
  CHECK(json_number(0.1 + 0.2).dump() == "0.30000000000000004");
  CHECK(json_number(9007199254740992.0).dump() == "9007199254740992");
  for (const double value : {1e300, -0.0, 1.0 / 3.0, 5e-324, 1e18, 9007199254740994.0}) {
    CAPTURE(value);
    const double back = Json::parse(json_number(value).dump()).get<double>();
    CHECK((back == value && std::signbit(back) == std::signbit(value)));
  }
}

TEST_CASE("what is short stands on one line, and the members of what is long on one each",
          "[json]") {
  const Json inner = {{"b", {1, 2}}, {"c", true}};
  CHECK(format_json(inner) == "{\"b\":[1,2],\"c\":true}\n");
  const std::string text(150, 'x');
  CHECK(format_json({{"a", text}, {"inner", inner}}) ==
        "{\n \"a\": \"" + text + "\",\n \"inner\": {\"b\":[1,2],\"c\":true}}\n");
}

TEST_CASE("values are taken by their type and limits, else refused with their path", "[json]") {
  const Json document = parse_json(
      R"({"layers": [{"whole": 3.0, "part": 2.5, "large": 4294967296, "huge": 1e19,
          "text": "a", "none": null}]})",
      "f.json");
  const JsonNode layer = JsonNode(document, "f.json").at("layers").elements().at(0);
  CHECK(layer.at("whole").path() == "layers[0].whole");
  CHECK(layer.at("whole").integer() == 3);
  CHECK(layer.at("part").number_at_least(2.5) == 2.5);
  CHECK(layer.at("large").integer_at_least(0) == 4294967296);
  CHECK((layer.at("whole").integer_at_least(3) == 3 &&
         layer.at("whole").small_integer_at_least(3) == 3));
  CHECK((layer.has("none") && layer.at("none").is_null() && !layer.has("gone")));
  CHECK(layer.keys().size() == 6);
  const auto refused = [](const auto& take) { return complaint_of([&] { take(); }); };
  CHECK(refused([&] { layer.at("part").integer(); }) ==
        "f.json: layers[0].part: must be a whole number (it is 2.5); round it");
  CHECK(refused([&] { layer.at("whole").integer_at_least(4); }) ==
        "f.json: layers[0].whole: must be at least 4 (it is 3); correct the value");
  CHECK(refused([&] { layer.at("large").small_integer_at_least(0); }) ==
        "f.json: layers[0].large: is too large (it is 4294967296); correct the value");
  CHECK(refused([&] { layer.at("part").number_at_least(2.6); }).find("must be at least 2.6") !=
        std::string::npos);
  CHECK(refused([&] { layer.at("huge").number_at_least(0); }).find("must be at most 1e+18") !=
        std::string::npos);
  CHECK(refused([&] { layer.at("huge").integer(); }).find("is too large") != std::string::npos);
  const auto whole = [](const char* number) {
    return JsonNode(parse_json(number, "f.json"), "f.json").integer();
  };
  CHECK(whole("9007199254740991") == 9007199254740991);
  for (const char* beyond : {"9007199254740993", "-9007199254740993", "18446744073709551615"})
    CHECK(refused([&] { whole(beyond); }).find("is too large") != std::string::npos);
  CHECK(refused([&] { layer.at("part").string(); }) ==
        "f.json: layers[0].part: must be a string (it is 2.5); put it in quotes");
  CHECK(refused([&] {
          layer.at("text").boolean();
        }).starts_with("f.json: layers[0].text: must be true or false (it is \"a\")"));
  CHECK(refused([&] { layer.elements(); }).starts_with("f.json: layers[0]: must be an array"));
  CHECK(refused([&] { layer.at("gone"); }) == "f.json: layers[0].gone: is missing; add this key");
  CHECK(refused([&] {
          layer.at("text").at("of");
        }).starts_with("f.json: layers[0].text: must be an object (it is \"a\")"));
  CHECK(refused([&] {
          layer.allow_keys({"whole", "part", "large", "huge", "texts", "none"});
        }) == "f.json: layers[0]: unknown key \"text\"; did you mean \"texts\"?");
}

}  // namespace
}  // namespace pptrain
