#include "weights/weight_files.hpp"

#include "data/files.hpp"
#include "support/catch.hpp"
#include "support/complaint.hpp"
#include "weights/safetensors.hpp"

namespace pptrain {
namespace {

const std::string header_a = R"({"a":{"dtype":"F32","shape":[2,2],"data_offsets":[0,16]}})";
const std::string header_b =
    R"({"b.weight":{"dtype":"BF16","shape":[2],"data_offsets":[0,4]},"n":{"dtype":"I64","shape":[],"data_offsets":[4,12]}})";

std::string file_a() { return safetensors(header_a, bytes_of({1.5F, -2.0F, 0.25F, 1e-40F})); }
std::string file_b() {
  return safetensors(header_b, std::string("\x80\x3f\x00\xc0", 4) + std::string(8, '\1'));
}

/// A folder with two files and an index; what is "" is left out.
void write_two(const TestFolder& folder, const std::string& index, const std::string& a,
               const std::string& b) {
  if (!index.empty()) folder.write("model.safetensors.index.json", index);
  if (!a.empty()) folder.write("model-00001-of-00002.safetensors", a);
  if (!b.empty()) folder.write("model-00002-of-00002.safetensors", b);
}

const std::string sound_index = R"({"metadata": {"total_size": 28},
 "weight_map": {
  "a": "model-00001-of-00002.safetensors",
  "b.weight": "model-00002-of-00002.safetensors",
  "n": "model-00002-of-00002.safetensors"
 }})";

std::vector<float> read_all(const WeightFiles& files, const std::string& name) {
  std::vector<float> values(static_cast<std::size_t>(num_elements(files.tensor(name))));
  files.read(name, {0, static_cast<std::int64_t>(values.size())}, values.data());
  return values;
}

TEST_CASE("weights are read from one file, whole and in slices", "[weights]") {
  const TestFolder folder("weights_one");
  folder.write("model.safetensors", file_a());
  const WeightFiles files(folder.path(""));
  CHECK(files.tensors() == std::vector<WeightTensor>{{"a", WeightType::f32, {2, 2}}});
  CHECK(read_all(files, "a") == std::vector<float>{1.5F, -2.0F, 0.25F, 1e-40F});
  std::vector<float> part(2);
  files.read("a", {1, 3}, part.data());
  CHECK(part == std::vector<float>{-2.0F, 0.25F});
  files.read("a", {4, 4}, nullptr);
}

TEST_CASE("weights are read from several files, those that are no numbers are listed",
          "[weights]") {
  const TestFolder folder("weights_two");
  write_two(folder, sound_index, file_a(), file_b());
  const WeightFiles files(folder.path(""));
  REQUIRE(files.tensors().size() == 3);
  CHECK(files.tensors()[1] == WeightTensor{"b.weight", WeightType::bf16, {2}});
  CHECK(files.tensors()[2] == WeightTensor{"n", WeightType::i64, {}});
  CHECK(files.has("n"));
  CHECK_FALSE(files.has("m"));
  CHECK(read_all(files, "b.weight") == std::vector<float>{1.0F, -2.0F});
  CHECK(read_all(files, "a").front() == 1.5F);
  CHECK(files.file_of("n") == folder.path("model-00002-of-00002.safetensors"));
  CHECK(complaint_of([&] { read_all(files, "n"); }) ==
        files.file_of("n") +
            ": tensor \"n\": has the type I64 (weights are read from F32, BF16 and F16); convert "
            "the tensor "
            "to one of these");
  CHECK_THAT(complaint_of([&] { files.tensor("b.weights"); }),
             Catch::Contains("tensor \"b.weights\": is not there") &&
                 Catch::Contains("the nearest name is \"b.weight\""));
}

TEST_CASE("an index that contradicts its files is refused", "[weights]") {
  const auto refused = [](const std::string& index, const std::string& a, const std::string& b) {
    const TestFolder folder("weights_index");
    write_two(folder, index, a, b);
    return complaint_of([&] { WeightFiles(folder.path("")); });
  };
  const auto changed = [&](const std::string& from, const std::string& to) {
    return refused(replaced(sound_index, from, to), file_a(), file_b());
  };
  CHECK_THAT(refused(sound_index, "", file_b()),
             Catch::Contains("names model-00001-of-00002.safetensors, which is not there"));
  CHECK_THAT(refused(sound_index, file_a(), file_a()),
             Catch::Contains("tensor \"a\": is in two files"));
  CHECK_THAT(changed("model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors"),
             Catch::Contains("tensor \"a\": is not in model-00002-of-00002.safetensors"));
  CHECK_THAT(changed("  \"n\"", "  \"m\""),
             Catch::Contains("tensor \"m\": is not in model-00002-of-00002.safetensors"));
  CHECK_THAT(changed(",\n  \"n\": \"model-00002-of-00002.safetensors\"", ""),
             Catch::Contains("tensor \"n\": is not in the index"));
  for (const char* outside :
       {"../model-00001-of-00002.safetensors", "/etc/passwd", "..", ".", "", "a/b.safetensors"}) {
    CHECK_THAT(
        changed("\"model-00001-of-00002.safetensors\"", "\"" + std::string(outside) + "\""),
        Catch::Contains("index.json:3: tensor \"a\": is in \"" + std::string(outside) + "\""));
  }
  CHECK_THAT(changed("\"model-00001-of-00002.safetensors\"", "7"),
             Catch::Contains("index.json:3: tensor \"a\": has no file"));
  CHECK_THAT(changed("weight_map", "weights"), Catch::Contains("has no \"weight_map\""));
  CHECK_THAT(changed("\"n\":", "\"a\":"),
             Catch::Contains("index.json:5: the key \"a\" comes twice"));
  CHECK_THAT(changed("}}", "}"), Catch::Contains("is no JSON"));
  CHECK_THAT(refused("[]", file_a(), file_b()), Catch::Contains("holds no JSON object"));
}

TEST_CASE("folders without weights are refused with what they hold instead", "[weights]") {
  const TestFolder folder("weights_none");
  const auto refused = [](const std::string& path) {
    return complaint_of([&] { WeightFiles{path}; });
  };
  CHECK_THAT(refused(folder.path("")),
             Catch::Contains("holds no weights (neither model.safetensors nor"));
  CHECK_THAT(refused(folder.path("nowhere")), Catch::Contains("is no folder with weights"));
  folder.write("pytorch_model.bin", "");
  CHECK_THAT(refused(folder.path("")), Catch::Contains("pytorch_model.bin is a pickle"));
  folder.write("model.safetensors", "");
  CHECK_THAT(refused(folder.path("")), Catch::Contains("is empty"));
  folder.write("model.safetensors", "<html>not found</html>");
  CHECK_THAT(refused(folder.path("")), Catch::Contains("is no safetensors file"));
  CHECK_THAT(refused(folder.path("model.safetensors")),
             Catch::Contains("name the folder, not a file in it"));
  folder.write("model.safetensors", file_a());
  write_two(folder, sound_index, file_a(), file_b());
  CHECK_THAT(refused(folder.path("")), Catch::Contains("they are two sets of weights"));
}

TEST_CASE("an index may name the single file", "[weights]") {
  const TestFolder folder("weights_single_index");
  folder.write("model.safetensors", file_a());
  write_two(folder, R"({"weight_map": {"a": "model.safetensors"}})", "", "");
  CHECK(read_all(WeightFiles(folder.path("")), "a").size() == 4);
}

}  // namespace
}  // namespace pptrain
