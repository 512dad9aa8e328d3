// Folders as save_pretrained of transformers writes them, read by a plain reader of the format and
// by WeightFiles.
#include <nlohmann/json.hpp>

#include "base/interval.hpp"
#include "support/catch.hpp"
#include "weights/reference_folders.hpp"
#include "weights/weight_files.hpp"

namespace pptrain {
namespace {

namespace fs = std::filesystem;

/// The elements of every tensor of a file, F32, BF16 or a single I64, by the description of the
/// format alone.
std::map<std::string, std::vector<float>> plain_read(const fs::path& path) {
  std::ifstream stream(path, std::ios::binary);
  const std::string file{std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>()};
  std::uint64_t length = 0;
  std::memcpy(&length, file.data(), 8);
  std::map<std::string, std::vector<float>> tensors;
  const nlohmann::json header = nlohmann::json::parse(file.substr(8, length));
  for (const auto& [name, entry] : header.items()) {
    if (name == "__metadata__") continue;
    if (entry.at("dtype") == "I64") {
      std::int64_t count = 0;
      const std::size_t begin = entry.at("data_offsets")[0];
      std::memcpy(&count, file.data() + 8 + length + begin, sizeof(count));
      tensors[name] = {static_cast<float>(count)};
      continue;
    }
    const bool is_wide = entry.at("dtype") == "F32";
    REQUIRE((is_wide || entry.at("dtype") == "BF16"));
    for (std::size_t at = entry.at("data_offsets")[0]; at < entry.at("data_offsets")[1];
         at += is_wide ? 4 : 2) {
      char bytes[4] = {};  // a bf16 is the upper half of an fp32
      std::memcpy(bytes + (is_wide ? 0 : 2), file.data() + 8 + length + at, is_wide ? 4 : 2);
      float value = 0.0F;
      std::memcpy(&value, bytes, 4);
      tensors[name].push_back(value);
    }
  }
  return tensors;
}

/// Values of a tensor, read by two ranks that share it unevenly.
std::vector<float> read_in_parts(const WeightFiles& files, const WeightTensor& tensor) {
  if (tensor.type == WeightType::i64) return {static_cast<float>(files.count(tensor.name))};
  const std::int64_t size = num_elements(tensor);
  std::vector<float> values(static_cast<std::size_t>(size));
  for (const Interval part : {Interval{size / 3, size}, Interval{0, size / 3}}) {
    files.read(tensor.name, part, values.data() + part.begin);
  }
  return values;
}

TEST_CASE("weights of transformers are read bit for bit", "[weights]") {
  int num_folders = 0, num_sharded = 0;
  for (const fs::path& folder : reference_folders()) {
    INFO(folder.string());
    std::map<std::string, std::vector<float>> expected;
    int num_files = 0;
    for (const auto& entry : fs::directory_iterator(folder)) {
      if (entry.path().extension() != ".safetensors") continue;
      expected.merge(plain_read(entry.path()));
      ++num_files;
    }
    const WeightFiles files(folder.string());
    CHECK(files.tensors().size() == expected.size());
    for (const WeightTensor& tensor : files.tensors()) {
      INFO(tensor.name);
      CHECK(read_in_parts(files, tensor) == expected.at(tensor.name));
    }
    ++num_folders;
    if (num_files > 1) ++num_sharded;
  }
  CHECK(num_folders > 8);
  CHECK(num_sharded > 0);
}

}  // namespace
}  // namespace pptrain
