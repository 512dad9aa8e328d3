#include "weights/safetensors_header.hpp"

#include "support/catch.hpp"
#include "support/complaint.hpp"
#include "weights/safetensors.hpp"

namespace pptrain {
namespace {

std::vector<StoredTensor> read_header(const std::string& file) {
  return read_safetensors_header(std::as_bytes(std::span(file)), "w.safetensors");
}

std::string refused(const std::string& file) {
  return complaint_of([&] { read_header(file); });
}

const std::string sound = R"({"a":{"dtype":"F32","shape":[2,3],"data_offsets":[0,24]},)"
                          R"("b":{"dtype":"I64","shape":[],"data_offsets":[24,32]}})";
const std::string data(32, 'x');

TEST_CASE("a header says where tensors lie, in any order, with metadata and spaces", "[weights]") {
  const auto tensors = read_header(safetensors(
      R"( {"__metadata__":{"format":"pt","a":"{\"[\""},"z":{"data_offsets":[0,1],"shape":[1],"dtype":"BOOL"},)"
      R"("none":{"dtype":"F32","shape":[0,7],"data_offsets":[1,1]},"a":{"dtype":"F4","shape":[3,2],"data_offsets":[1,4]}}  )",
      "1234"));
  REQUIRE(tensors.size() == 3);
  const std::int64_t begin = tensors[0].bytes.begin;
  CHECK(tensors[0].tensor == WeightTensor{"z", WeightType::boolean, {1}});
  CHECK(tensors[1].tensor == WeightTensor{"none", WeightType::f32, {0, 7}});
  CHECK(tensors[1].bytes.empty());
  CHECK(tensors[2].tensor == WeightTensor{"a", WeightType::f4, {3, 2}});
  CHECK(tensors[2].bytes == Interval{begin + 1, begin + 4});
  const auto scalar = read_header(safetensors(sound, data));
  CHECK(scalar[1].tensor.shape.empty());
  CHECK(num_elements(scalar[1].tensor) == 1);
  CHECK(read_header(safetensors("{}", "")).empty());
}

TEST_CASE("lengths that lie are refused", "[weights]") {
  CHECK(refused("1234567") ==
        "w.safetensors: is no safetensors file (it has 7 bytes, the format begins with 8); fetch "
        "or write the file "
        "again");
  CHECK_THAT(refused(safetensors(sound, data, 100'000'001)),
             Catch::Contains("promise a header of 100000001 bytes"));
  CHECK_THAT(refused(safetensors(sound, "", static_cast<std::int64_t>(sound.size()) + 1)),
             Catch::Contains("is cut short"));
  CHECK_THAT(refused(safetensors(sound, data, 5)), Catch::Contains("the header is no JSON"));
  CHECK_THAT(refused(safetensors("", "")), Catch::Contains("the header is no JSON"));
  std::string all_ones = safetensors(sound, data);
  std::fill_n(all_ones.begin(), 8, '\xff');
  CHECK_THAT(refused(all_ones), Catch::Contains("promise a header of 18446744073709551615 bytes"));
}

TEST_CASE("places that lie are refused with tensor, place and reason", "[weights]") {
  CHECK(refused(safetensors(sound, data.substr(1))) ==
        "w.safetensors: tensor \"b\": lies at bytes 24 to 32 behind the header (the file has 31 "
        "there: is it cut "
        "short?); "
        "fetch or write the file again");
  const auto changed = [](const std::string& from, const std::string& to, std::size_t bytes = 32) {
    return refused(safetensors(replaced(sound, from, to), std::string(bytes, 'x')));
  };
  CHECK_THAT(changed("[24,32]", "[32,24]"), Catch::Contains("it ends before it begins"));
  CHECK_THAT(changed("[24,32]", "[16,24]", 24),
             Catch::Contains("another tensor takes those before 24"));
  CHECK_THAT(changed("[24,32]", "[25,33]", 33), Catch::Contains("no tensor has those from 24 on"));
  CHECK_THAT(changed("[24,32]", "[24,33]", 33),
             Catch::Contains("lies on 9 bytes (I64 of the shape [] takes 8)"));
  CHECK_THAT(changed("[24,32]", "[24,9223372036854775808]"),
             Catch::Contains("has the number 9223372036854775808"));
  CHECK_THAT(changed("[2,3]", "[2,4]"), Catch::Contains("F32 of the shape [2, 4] takes 32"));
  CHECK_THAT(changed("[2,3]", "[4294967296,4294967296]"),
             Catch::Contains("its size overflows 64 bits"));
  CHECK_THAT(changed("[2,3]", "[9223372036854775807,0]"), Catch::Contains("overflows"));
  CHECK_THAT(changed("I64\",\"shape\":[]", "F4\",\"shape\":[17]"),
             Catch::Contains("do not fill whole bytes"));
  CHECK(refused(safetensors(sound, data + "y")) ==
        "w.safetensors: has 33 bytes behind the header (its tensors end at 32); fetch or write the "
        "file again");
}

TEST_CASE("headers of another form are refused", "[weights]") {
  const auto changed = [](const std::string& from, const std::string& to) {
    return refused(safetensors(replaced(sound, from, to), data));
  };
  CHECK_THAT(changed("\"b\":", "\"a\":"), Catch::Contains("tensor \"a\": is there twice"));
  CHECK_THAT(changed("\"I64\"", "\"I65\""),
             Catch::Contains("tensor \"b\": has the unknown dtype \"I65\""));
  CHECK_THAT(changed("\"I64\"", "7"), Catch::Contains("\"dtype\" has 7"));
  CHECK_THAT(changed("[2,3]", "[2,-3]"), Catch::Contains("\"shape\" has -3"));
  CHECK_THAT(changed("[2,3]", "[2,3.0]"), Catch::Contains("\"shape\" has 3.0"));
  CHECK_THAT(changed("[2,3]", "[2,[3]]"), Catch::Contains("\"shape\" has a list"));
  CHECK_THAT(changed("[2,3]", "[2,null]"), Catch::Contains("\"shape\" has null"));
  CHECK_THAT(changed("[2,3]", "\"2,3\""), Catch::Contains("\"shape\" has text"));
  CHECK_THAT(changed("[2,3]", "{}"), Catch::Contains("\"shape\" has an object"));
  CHECK_THAT(changed("[24,32]", "[24]"), Catch::Contains("of another length than 2"));
  CHECK_THAT(changed("[24,32]", "[24,32,32]"), Catch::Contains("more than 2 numbers"));
  CHECK_THAT(changed("\"shape\":[],", ""), Catch::Contains("tensor \"b\": has no \"shape\""));
  CHECK_THAT(changed("\"shape\":[],", "\"strides\":[],"),
             Catch::Contains("unknown key \"strides\""));
  CHECK_THAT(changed("\"shape\":[],", "\"dtype\":\"I64\","),
             Catch::Contains("the key \"dtype\" twice"));
  CHECK_THAT(changed("\"shape\":[2,3],", ""), Catch::Contains("tensor \"a\""));
  CHECK_THAT(changed("{\"dtype\":\"I64\",\"shape\":[],\"data_offsets\":[24,32]}", "true"),
             Catch::Contains("\"b\" has true"));
  CHECK_THAT(changed("]}}", "]}}{"), Catch::Contains("the header is no JSON at its byte"));
  CHECK_THAT(changed("F32", "F\xff"), Catch::Contains("invalid string"));
  for (const char* other : {"[]", "7", "\"text\"", "null"}) {
    CHECK_THAT(refused(safetensors(other, "")), Catch::Contains("where an object is expected"));
  }
  CHECK_THAT(refused(safetensors(R"({"__metadata__":{"format":{}}})", "")),
             Catch::Contains("\"format\" has an object"));
  const std::string deep = R"({"a":)" + std::string(1'000'000, '[');
  CHECK_THAT(refused(safetensors(deep, "")), Catch::Contains("\"a\" has a list"));
  std::string dimensions = "1";
  for (int i = 0; i < 64; ++i) dimensions += ",1";
  CHECK_THAT(changed("[2,3]", "[" + dimensions + "]"),
             Catch::Contains("no tensor has so many dimensions"));
}

}  // namespace
}  // namespace pptrain
