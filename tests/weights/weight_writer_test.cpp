#include "weights/weight_writer.hpp"

#include <cstdlib>

#include "base/random.hpp"
#include "data/files.hpp"
#include "support/catch.hpp"
#include "support/child.hpp"
#include "support/complaint.hpp"
#include "weights/safetensors.hpp"
#include "weights/weight_files.hpp"

namespace pptrain {
namespace {

namespace fs = std::filesystem;

std::string content(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

std::vector<std::string> names_in(const std::string& folder) {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(folder))
    names.push_back(entry.path().filename().string());
  std::sort(names.begin(), names.end());
  return names;
}

/// Values that every type holds exactly.
std::vector<float> values_of(const WeightTensor& tensor) {
  const CounterRandom random(5, tensor.name);
  std::vector<float> values(static_cast<std::size_t>(num_elements(tensor)));
  for (std::size_t i = 0; i < values.size(); ++i)
    values[i] = static_cast<float>(random.bits(i) % 256) - 128.0F;
  return values;
}

const std::vector<WeightTensor> some_tensors = {
    {"wte.weight", WeightType::f32, {7, 5}}, {"h.0.w", WeightType::bf16, {3, 1, 3}},
    {"h.0.\"b\"\n", WeightType::f16, {11}},  {"empty", WeightType::f32, {0, 4}},
    {"large", WeightType::bf16, {70000}},    {"scale", WeightType::f32, {}}};

/// Writes all tensors, each as slices of this size, the last slice first.
void write_all(WeightWriter& writer, std::size_t slice) {
  for (const WeightTensor& tensor : some_tensors) {
    const std::vector<float> values = values_of(tensor);
    const std::size_t slices = (values.size() + slice - 1) / slice;
    for (std::size_t i = slices; i-- > 0;) {
      const std::size_t begin = i * slice;
      writer.write(tensor.name, static_cast<std::int64_t>(begin),
                   std::span(values).subspan(begin, std::min(slice, values.size() - begin)));
    }
  }
  writer.commit();
}

void check_read_back(const std::string& folder) {
  const WeightFiles files(folder);
  CHECK(files.tensors().size() == some_tensors.size());
  for (const WeightTensor& tensor : some_tensors) {
    INFO(tensor.name);
    CHECK(files.tensor(tensor.name) == tensor);
    const std::vector<float> values = values_of(tensor);
    std::vector<float> found(values.size());
    files.read(tensor.name, {0, static_cast<std::int64_t>(found.size())}, found.data());
    CHECK(found == values);
  }
}

TEST_CASE("what is written in slices is read as it was, in one file or several", "[weights]") {
  for (const std::int64_t piece_bytes :
       {default_piece_bytes, std::int64_t{1000}, std::int64_t{1}}) {
    for (const std::size_t slice : {std::size_t{4}, std::size_t{69000}}) {
      const TestFolder folder("weights_written");
      WeightWriter writer(folder.path("deep/er"), some_tensors, piece_bytes);
      write_all(writer, slice);
      check_read_back(folder.path("deep/er"));
    }
  }
}

TEST_CASE("files begin as the format's own library writes them", "[weights]") {
  const TestFolder folder("weights_layout");
  WeightWriter writer(folder.path("w"),
                      {{"b", WeightType::bf16, {1}}, {"a", WeightType::f32, {1, 2}}});
  const std::vector<float> values = {1.0F, -2.0F};
  writer.write("a", 0, values);
  writer.write("b", 0, std::span(values).first(1));
  CHECK(names_in(folder.path("w")) == std::vector<std::string>{"model.safetensors.partial"});
  writer.commit();
  std::string header =
      R"({"__metadata__":{"format":"pt"},"b":{"dtype":"BF16","shape":[1],"data_offsets":[0,2]},)"
      R"("a":{"dtype":"F32","shape":[1,2],"data_offsets":[2,10]}})";
  header.resize((header.size() + 7) / 8 * 8, ' ');
  CHECK(content(folder.path("w/model.safetensors")) ==
        safetensors(header, "\x80\x3f" + bytes_of(values)));
  CHECK(names_in(folder.path("w")) == std::vector<std::string>{"model.safetensors"});
}

TEST_CASE("pieces are as long as allowed and named in the index", "[weights]") {
  const TestFolder folder("weights_pieces");
  const std::vector<WeightTensor> tensors = {{"a", WeightType::f32, {10}},
                                             {"b", WeightType::f32, {10}},
                                             {"c", WeightType::f32, {21}},
                                             {"d", WeightType::f16, {1}}};
  WeightWriter writer(folder.path("w"), tensors, 80);
  for (const WeightTensor& tensor : tensors) writer.write(tensor.name, 0, values_of(tensor));
  writer.commit();
  CHECK(names_in(folder.path("w")) == std::vector<std::string>{"model-00001-of-00003.safetensors",
                                                               "model-00002-of-00003.safetensors",
                                                               "model-00003-of-00003.safetensors",
                                                               "model.safetensors.index.json"});
  CHECK(content(folder.path("w/model.safetensors.index.json")) == R"({
  "metadata": {
    "total_size": 166
  },
  "weight_map": {
    "a": "model-00001-of-00003.safetensors",
    "b": "model-00001-of-00003.safetensors",
    "c": "model-00002-of-00003.safetensors",
    "d": "model-00003-of-00003.safetensors"
  }
}
)");
}

TEST_CASE("nothing is left where writing ends early", "[weights]") {
  const TestFolder folder("weights_early");
  {
    WeightWriter writer(folder.path("w"), some_tensors, 100);
    writer.write("scale", 0, std::vector<float>{1.0F});
    CHECK(names_in(folder.path("w")).size() == 4);
  }
  CHECK(names_in(folder.path("w")).empty());
}

TEST_CASE("a full disk is a failure that leaves none of the files", "[weights]") {
  const TestFolder folder("weights_full");
  for (const rlim_t limit : {0, 100, 1000, 100000}) {
    const int status = in_child([&] {
      limit_files(limit);
      try {
        WeightWriter writer(folder.path("w"), some_tensors, 1000);
        write_all(writer, 5000);
      } catch (const Error& error) {
        ::_exit(static_cast<int>(error.code()));
      }
    });
    REQUIRE(WIFEXITED(status));
    CHECK(WEXITSTATUS(status) == 4);
    CHECK(names_in(folder.path("w")).empty());
  }
}

TEST_CASE("weights are not written into a folder that has some, or that cannot be made",
          "[weights]") {
  const TestFolder folder("weights_there");
  const auto refused = [&](const std::string& path) {
    return complaint_of([&] { WeightWriter(folder.path(path), some_tensors); });
  };
  for (const char* name :
       {"model.safetensors", "model-00002-of-00002.safetensors", "model.safetensors.index.json"}) {
    folder.write(name, "");
    CHECK_THAT(refused(""),
               Catch::Contains("holds weights already (" + std::string(name) + " is there)"));
    fs::remove(folder.path(name));
  }
  folder.write("file", "");
  CHECK_THAT(refused("file"), Catch::Contains("cannot be written"));
  CHECK_THAT(refused("file/below"), Catch::Contains("cannot be written"));
}

TEST_CASE("finite values that F16 cannot hold are refused, infinite ones are kept", "[weights]") {
  const TestFolder folder("weights_overflow");
  WeightWriter writer(folder.path("w"), {{"a", WeightType::f16, {3}}});
  const std::vector<float> values = {std::numeric_limits<float>::infinity(), 65519.0F, -65520.0F};
  CHECK(complaint_of([&] { writer.write("a", 0, values); }) ==
        folder.path("w") +
            ": tensor \"a\": element 2 is -65520 (F16 ends at 65504); write BF16 or F32");
  writer.write("a", 0, std::vector<float>{values[0], values[1], 0.0F});
  writer.commit();
  std::vector<float> found(3);
  WeightFiles(folder.path("w")).read("a", {0, 3}, found.data());
  CHECK(found == std::vector<float>{values[0], 65504.0F, 0.0F});
}

// The other side of these two is read_by_peer.py, which starts them with the folder.

/// The value of an element, which all types hold.
float peer_value(std::size_t i) { return (static_cast<float>(i * 37 % 251) - 125.0F) / 8.0F; }

std::string peer_folder() {
  const char* folder = std::getenv("PPTRAIN_PEER_FOLDER");
  REQUIRE(folder != nullptr);
  return folder;
}

TEST_CASE("weights for another program to read", "[.][write_for_peer]") {
  const std::vector<WeightTensor> tensors = {
      {"f32", WeightType::f32, {3, 67}}, {"bf16", WeightType::bf16, {5, 1, 7}},
      {"f16", WeightType::f16, {301}},   {"none", WeightType::f32, {2, 0}},
      {"scalar", WeightType::f32, {}},   {"\xc3\xa4\"\\\n", WeightType::f32, {2}}};
  for (const std::int64_t piece_bytes : {default_piece_bytes, std::int64_t{700}}) {
    WeightWriter writer(peer_folder() + (piece_bytes == 700 ? "/pieces" : "/single"), tensors,
                        piece_bytes);
    for (const WeightTensor& tensor : tensors) {
      std::vector<float> values(static_cast<std::size_t>(num_elements(tensor)));
      for (std::size_t i = 0; i < values.size(); ++i) values[i] = peer_value(i);
      writer.write(tensor.name, 0, values);
    }
    writer.commit();
  }
}

TEST_CASE("weights that another program has written", "[.][read_from_peer]") {
  const WeightFiles files(peer_folder());
  CHECK(files.tensor("i64") == WeightTensor{"i64", WeightType::i64, {2, 3}});
  CHECK(files.tensor("bool") == WeightTensor{"bool", WeightType::boolean, {3}});
  CHECK(files.tensor("f64").type == WeightType::f64);
  for (const WeightTensor& tensor :
       {WeightTensor{"f32", WeightType::f32, {4, 9}}, WeightTensor{"bf16", WeightType::bf16, {33}},
        WeightTensor{"f16", WeightType::f16, {2, 2, 9}}}) {
    CHECK(files.tensor(tensor.name) == tensor);
    std::vector<float> values(static_cast<std::size_t>(num_elements(tensor)));
    files.read(tensor.name, {0, num_elements(tensor)}, values.data());
    for (std::size_t i = 0; i < values.size(); ++i) CHECK(values[i] == peer_value(i));
  }
}

}  // namespace
}  // namespace pptrain
