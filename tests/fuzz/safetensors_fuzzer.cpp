#include <cstring>
#include <nlohmann/json.hpp>

#include "fuzz.hpp"
#include "fuzz_folder.hpp"
#include "weights/weight_files.hpp"

using namespace pptrain;

namespace {

using OrderedJson = nlohmann::ordered_json;

constexpr std::int64_t most_data = 256;

/// A number as programs write it, or one that is chosen to be wrong.
OrderedJson strange_number(FuzzedDataProvider& input, std::int64_t sound) {
  switch (input.ConsumeIntegralInRange(0, 40)) {
    case 1: return input.ConsumeIntegral<std::uint64_t>();
    case 2: return input.ConsumeIntegral<std::int64_t>();
    case 3: return sound + 1;
    case 4: return sound - 1;
    case 5: return input.ConsumeIntegralInRange<std::int64_t>(0, most_data);
    case 6: return std::uint64_t{1} << input.ConsumeIntegralInRange(0, 63);
    case 7: return static_cast<double>(sound);
    case 8: return nullptr;
    default: return sound;
  }
}

std::string some_type(FuzzedDataProvider& input) {
  if (input.ConsumeIntegralInRange(0, 20) == 1) return input.ConsumeRandomLengthString(8);
  const std::vector<std::string> types = {"F32", "BF16",    "F16", "I64", "BOOL",
                                          "F64", "F8_E4M3", "F4",  "U8"};
  return types[input.ConsumeIntegralInRange<std::size_t>(0, types.size() - 1)];
}

/// The entry of a tensor that takes the next bytes; `end` moves on.
OrderedJson some_tensor(FuzzedDataProvider& input, std::int64_t& end) {
  const std::string type = some_type(input);
  std::int64_t bits = weight_type(type) ? bits_of(*weight_type(type)) : 8;
  OrderedJson shape = OrderedJson::array();
  for (int left = input.ConsumeIntegralInRange(0, 4); left > 0; --left) {
    const auto extent = input.ConsumeIntegralInRange<std::int64_t>(0, 4);
    bits *= extent;
    shape.push_back(strange_number(input, extent));
  }
  const std::int64_t begin = end;
  end += bits / 8;
  return {{"dtype", type},
          {"shape", shape},
          {"data_offsets", {strange_number(input, begin), strange_number(input, end)}}};
}

/// A file that is sound, or nearly: bytes of the header are changed, the length lies, the file is
/// cut.
std::string some_file(FuzzedDataProvider& input, const std::vector<std::string>& names) {
  OrderedJson header = {{"__metadata__", {{"format", "pt"}}}};
  std::int64_t end = 0;
  for (const std::string& name : names) header[name] = some_tensor(input, end);
  std::string text = header.dump(-1, ' ', false, OrderedJson::error_handler_t::replace);
  for (int left = input.ConsumeIntegralInRange(0, 3); left > 1; --left) {
    const auto at = input.ConsumeIntegralInRange<std::size_t>(0, text.size());
    text.replace(at, input.ConsumeIntegralInRange<std::size_t>(0, 8),
                 input.ConsumeRandomLengthString(8));
  }
  const auto length = static_cast<std::uint64_t>(text.size());
  const std::uint64_t promised =
      input.ConsumeIntegralInRange(0, 15) == 1 ? input.ConsumeIntegral<std::uint64_t>() : length;
  std::string file(sizeof promised, '\0');
  std::memcpy(file.data(), &promised, sizeof promised);
  file += text + std::string(static_cast<std::size_t>(std::min(end, most_data)), '\x41');
  if (input.ConsumeIntegralInRange(0, 15) == 1)
    file.resize(input.ConsumeIntegralInRange<std::size_t>(0, file.size() + 8));
  return file;
}

void write_folder(FuzzedDataProvider& input, const FuzzFolder& folder) {
  const std::vector<std::string> files = {"model-00001-of-00002.safetensors",
                                          "model-00002-of-00002.safetensors"};
  const std::string single = folder.path(single_weight_file),
                    index = folder.path(weight_index_file);
  std::filesystem::remove(single);
  std::filesystem::remove(index);
  if (input.ConsumeBool()) {
    write_bytes(single, some_file(input, {"a", "b", input.ConsumeRandomLengthString(6)}));
    return;
  }
  OrderedJson map = OrderedJson::object();
  for (const char* name : {"a", "b", "c"}) {
    const std::size_t file = input.ConsumeIntegralInRange<std::size_t>(0, 20) == 1 ? 1 : 0;
    map[name] = name[0] == 'c' ? files[1 - file] : files[file];
    if (input.ConsumeIntegralInRange(0, 30) == 1) map[name] = input.ConsumeRandomLengthString(10);
  }
  std::string text = OrderedJson{{"metadata", {{"total_size", 7}}}, {"weight_map", map}}.dump(
      -1, ' ', false, OrderedJson::error_handler_t::replace);
  if (input.ConsumeIntegralInRange(0, 7) == 1) text = input.ConsumeRandomLengthString(200);
  write_bytes(index, text);
  write_bytes(folder.path(files[0]), some_file(input, {"a", "b"}));
  write_bytes(folder.path(files[1]), some_file(input, {"c"}));
}

/// Every element of the data has bytes 0x41, so any other value would be from elsewhere.
void check_values(const WeightFiles& files, const WeightTensor& tensor) {
  const std::int64_t count = num_elements(tensor);
  PPTRAIN_ASSERT(0 <= count && stored_bytes(tensor) <= most_data, "{} elements", count);
  if (!is_convertible(tensor.type)) return;
  std::vector<float> values(static_cast<std::size_t>(count));
  files.read(tensor.name, {0, count}, values.data());
  const std::vector<std::byte> bytes(4, std::byte{0x41});
  float wanted = 0.0F;
  widen(tensor.type, bytes.data(), std::span(&wanted, 1));
  for (const float value : values)
    PPTRAIN_ASSERT(value == wanted, "{} in place of {}", value, wanted);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const FuzzFolder folder;
  FuzzedDataProvider input(data, size);
  write_folder(input, folder);
  try {
    const WeightFiles files(folder.path(""));
    for (const WeightTensor& tensor : files.tensors()) check_values(files, tensor);
  } catch (const Error& error) {
    PPTRAIN_ASSERT(error.code() == ExitCode::bad_input, "{}", error.what());
  }
  return 0;
}
