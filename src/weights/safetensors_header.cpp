#include "weights/safetensors_header.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <set>
#include <string_view>

#include "base/error.hpp"
#include "base/names.hpp"
#include "weights/header_events.hpp"

namespace pptrain {
namespace {

constexpr std::size_t length_bytes = 8;
constexpr const char* again = "fetch or write the file again";

[[noreturn]] void refuse_file(const std::string& path, const std::string& problem,
                              const std::string& reason) {
  throw_bad_input({path, problem, reason, again});
}

[[noreturn]] void refuse_tensor(const std::string& path, const StoredTensor& stored,
                                const std::string& problem, const std::string& reason) {
  throw_bad_input(
      {fmt::format("{}: tensor \"{}\"", path, stored.tensor.name), problem, reason, again});
}

std::string shape_text(const WeightTensor& tensor) {
  std::vector<std::string> extents;
  for (const std::int64_t extent : tensor.shape) extents.push_back(std::to_string(extent));
  return join(extents);
}

/// The text of the header.
std::string_view header_text(std::span<const std::byte> file, const std::string& path) {
  if (file.size() < length_bytes) {
    refuse_file(path, "is no safetensors file",
                fmt::format("it has {} bytes, the format begins with 8", file.size()));
  }
  std::uint64_t length = 0;
  std::memcpy(&length, file.data(), length_bytes);
  if (length > static_cast<std::uint64_t>(max_header_bytes)) {
    refuse_file(path, "is no safetensors file",
                fmt::format("its first 8 bytes promise a header of {} bytes, and {} are the limit",
                            length, max_header_bytes));
  }
  if (length > file.size() - length_bytes) {
    refuse_file(path, "is cut short",
                fmt::format("its header has {} bytes, and the file {}", length, file.size()));
  }
  return {reinterpret_cast<const char*>(file.data()) + length_bytes,
          static_cast<std::size_t>(length)};
}

void check_names(const std::vector<StoredTensor>& tensors, const std::string& path) {
  std::set<std::string_view> names;
  for (const StoredTensor& stored : tensors) {
    if (!names.insert(stored.tensor.name).second) {
      refuse_tensor(path, stored, "is there twice", "a name stands for one tensor");
    }
  }
}

void check_size(const StoredTensor& stored, const std::string& path) {
  const WeightTensor& tensor = stored.tensor;
  std::int64_t bits = bits_of(tensor.type);
  for (const std::int64_t extent : tensor.shape) {
    if (__builtin_mul_overflow(bits, extent, &bits)) {
      refuse_tensor(path, stored, fmt::format("has the shape [{}]", shape_text(tensor)),
                    "its size overflows 64 bits");
    }
  }
  if (bits % 8 != 0) {
    refuse_tensor(path, stored, fmt::format("has {} bits", bits),
                  "its elements do not fill whole bytes");
  }
  if (bits / 8 != stored.bytes.size()) {
    refuse_tensor(path, stored, fmt::format("lies on {} bytes", stored.bytes.size()),
                  fmt::format("{} of the shape [{}] takes {}", name_of(tensor.type),
                              shape_text(tensor), bits / 8));
  }
}

/// Holds the tensors, in order, to `data_bytes` bytes.
void check_places(const std::vector<StoredTensor>& tensors, std::int64_t data_bytes,
                  const std::string& path) {
  std::int64_t end = 0;
  for (const StoredTensor& stored : tensors) {
    const Interval bytes = stored.bytes;
    const std::string place =
        fmt::format("lies at bytes {} to {} behind the header", bytes.begin, bytes.end);
    if (bytes.end < bytes.begin) refuse_tensor(path, stored, place, "it ends before it begins");
    if (bytes.end > data_bytes) {
      refuse_tensor(path, stored, place,
                    fmt::format("the file has {} there: is it cut short?", data_bytes));
    }
    check_size(stored, path);
    if (bytes.begin < end)
      refuse_tensor(path, stored, place, fmt::format("another tensor takes those before {}", end));
    if (bytes.begin > end)
      refuse_tensor(path, stored, place, fmt::format("no tensor has those from {} on", end));
    end = bytes.end;
  }
  if (end < data_bytes) {
    refuse_file(path, fmt::format("has {} bytes behind the header", data_bytes),
                fmt::format("its tensors end at {}", end));
  }
}

}  // namespace

std::vector<StoredTensor> read_safetensors_header(std::span<const std::byte> file,
                                                  const std::string& path) {
  const std::string_view text = header_text(file, path);
  HeaderEvents events(path);
  nlohmann::json::sax_parse(text.begin(), text.end(), &events);
  std::vector<StoredTensor> tensors = events.take_tensors();
  std::stable_sort(tensors.begin(), tensors.end(),
                   [](const StoredTensor& a, const StoredTensor& b) { return a.bytes < b.bytes; });
  const auto data_begin = static_cast<std::int64_t>(length_bytes + text.size());
  check_names(tensors, path);
  check_places(tensors, static_cast<std::int64_t>(file.size()) - data_begin, path);
  for (StoredTensor& stored : tensors)
    stored.bytes = {stored.bytes.begin + data_begin, stored.bytes.end + data_begin};
  return tensors;
}

}  // namespace pptrain
