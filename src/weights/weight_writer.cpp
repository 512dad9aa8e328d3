#include "weights/weight_writer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <regex>

#include "base/error.hpp"
#include "base/files.hpp"
#include "weights/weight_files.hpp"
#include "weights/weight_index.hpp"

namespace pptrain {
namespace {

constexpr const char* name_another_folder =
    "name a folder you can write to, with room for the weights";

/// Refuses to mix weights: files of an earlier export, of which some would stay, beside new ones.
void refuse_weights_in(const std::filesystem::path& folder) {
  static const std::regex piece(R"(model-\d+-of-\d+\.safetensors)");
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    const std::string name = entry.path().filename().string();
    if (name != single_weight_file && name != weight_index_file && !std::regex_match(name, piece))
      continue;
    throw_bad_input({folder.string(), "holds weights already", name + " is there",
                     "name a new folder, or remove them"});
  }
}

void prepare_folder(const std::filesystem::path& folder) {
  try {
    std::filesystem::create_directories(folder);
    refuse_weights_in(folder);
  } catch (const std::filesystem::filesystem_error& error) {
    throw_unwritable({folder.string(), "cannot be written", "", name_another_folder},
                     error.code().value());
  }
}

/// Refuses values that F16 makes infinite: from 65,520 on, half a step beyond the largest. `first`:
/// their number.
void refuse_overflow(std::span<const float> values, std::int64_t first, const std::string& where) {
  const auto lost = std::find_if(values.begin(), values.end(), [](float value) {
    return std::isfinite(value) && std::abs(value) >= 65520.0F;
  });
  if (lost == values.end()) return;
  throw_bad_input({where, fmt::format("element {} is {}", first + (lost - values.begin()), *lost),
                   "F16 ends at 65504", "write BF16 or F32"});
}

}  // namespace

WeightWriter::WeightWriter(const std::string& folder, std::vector<WeightTensor> tensors,
                           std::int64_t piece_bytes)
    : folder_(folder), tensors_(std::move(tensors)) {
  for (std::size_t i = 0; i < tensors_.size(); ++i) {
    PPTRAIN_ASSERT(is_convertible(tensors_[i].type) || is_count(tensors_[i].type), "{} is {}",
                   tensors_[i].name, name_of(tensors_[i].type));
    const bool is_new = targets_.try_emplace(tensors_[i].name, Target{i, 0, 0, {}}).second;
    PPTRAIN_ASSERT(is_new, "{} twice", tensors_[i].name);
  }
  prepare_folder(folder);
  divide_into_pieces(piece_bytes);
  open_pieces();
}

void WeightWriter::divide_into_pieces(std::int64_t piece_bytes) {
  std::int64_t bytes = 0;  // in the last piece
  pieces_.emplace_back();
  for (std::size_t i = 0; i < tensors_.size(); ++i) {
    const std::int64_t more = stored_bytes(tensors_[i]);
    if (bytes > 0 && more > piece_bytes - bytes) {
      pieces_.emplace_back();
      bytes = 0;
    }
    Target& target = targets_.at(tensors_[i].name);
    target.piece = pieces_.size() - 1;
    target.begin = bytes;
    pieces_.back().tensors.push_back(i);
    bytes += more;
  }
  for (std::size_t p = 0; p < pieces_.size(); ++p) {
    pieces_[p].name = pieces_.size() == 1
                          ? single_weight_file
                          : fmt::format("model-{:05}-of-{:05}.safetensors", p + 1, pieces_.size());
  }
}

void WeightWriter::open_pieces() {
  for (Piece& piece : pieces_) {
    const std::string path = (std::filesystem::path(folder_) / piece.name).string();
    piece.file = std::make_unique<AtomicFile>(path, name_another_folder);
    const std::string header = header_of(piece);
    const auto length = static_cast<std::uint64_t>(header.size());
    piece.file->write(std::as_bytes(std::span(&length, 1)));
    piece.file->write(std::as_bytes(std::span(header)));
    for (const std::size_t i : piece.tensors) {
      targets_.at(tensors_[i].name).begin +=
          static_cast<std::int64_t>(sizeof length + header.size());
    }
  }
}

/// The header as the format's own library makes it: padded with spaces, so that elements are
/// aligned.
std::string WeightWriter::header_of(const Piece& piece) const {
  constexpr std::size_t alignment = 8;
  nlohmann::ordered_json::object_t header;
  header.emplace_back("__metadata__", nlohmann::ordered_json::object({{"format", "pt"}}));
  for (const std::size_t i : piece.tensors) {
    const WeightTensor& tensor = tensors_[i];
    const std::int64_t begin = targets_.at(tensor.name).begin;
    header.emplace_back(tensor.name, nlohmann::ordered_json{
                                         {"dtype", name_of(tensor.type)},
                                         {"shape", tensor.shape},
                                         {"data_offsets", {begin, begin + stored_bytes(tensor)}}});
  }
  std::string text = nlohmann::ordered_json(std::move(header)).dump();
  text.resize((text.size() + alignment - 1) / alignment * alignment, ' ');
  return text;
}

void WeightWriter::write(const std::string& name, std::int64_t begin,
                         std::span<const float> values) {
  const auto found = targets_.find(name);
  PPTRAIN_ASSERT(found != targets_.end(), "{} was not declared", name);
  Target& target = found->second;
  const auto end = begin + static_cast<std::int64_t>(values.size());
  PPTRAIN_ASSERT(0 <= begin && end <= num_elements(tensors_[target.tensor]), "[{}, {}) of {}",
                 begin, end, name);
  if (values.empty()) return;
  write_values(target, begin, values);
  if (!target.written.empty() && target.written.back().end == begin) {
    target.written.back().end = end;
  } else {
    target.written.push_back({begin, end});
  }
}

void WeightWriter::write_values(const Target& target, std::int64_t begin,
                                std::span<const float> values) {
  constexpr std::size_t block = std::size_t{1} << 16;
  const WeightTensor& tensor = tensors_[target.tensor];
  const auto element_bytes = static_cast<std::size_t>(bits_of(tensor.type) / 8);
  std::vector<std::byte> stored(std::min(block, values.size()) * element_bytes);
  for (std::size_t at = 0; at < values.size(); at += block) {
    const std::span<const float> part = values.subspan(at, std::min(block, values.size() - at));
    const std::int64_t first = begin + static_cast<std::int64_t>(at);
    if (tensor.type == WeightType::f16)
      refuse_overflow(part, first, fmt::format("{}: tensor \"{}\"", folder_, tensor.name));
    narrow(tensor.type, part, stored.data());
    pieces_[target.piece].file->write_at(
        target.begin + first * static_cast<std::int64_t>(element_bytes),
        std::span(stored).first(part.size() * element_bytes));
  }
}

void WeightWriter::check_complete() {
  for (auto& [name, target] : targets_) {
    std::sort(target.written.begin(), target.written.end());
    PPTRAIN_ASSERT(divides(target.written, num_elements(tensors_[target.tensor])),
                   "{} is not written once", name);
  }
}

std::string WeightWriter::index_text() const {
  std::map<std::string, std::string> file_by_name;
  std::int64_t total_bytes = 0;
  for (const auto& [name, target] : targets_) {
    file_by_name.emplace(name, pieces_[target.piece].name);
    total_bytes += stored_bytes(tensors_[target.tensor]);
  }
  return write_weight_index(file_by_name, total_bytes);
}

void WeightWriter::flush() {
  check_complete();
  if (pieces_.size() > 1 && !index_) {
    const std::string text = index_text();
    const std::string path = (std::filesystem::path(folder_) / weight_index_file).string();
    index_ = std::make_unique<AtomicFile>(path, name_another_folder);
    index_->write(std::as_bytes(std::span(text)));
    index_->flush();
  }
  for (const Piece& piece : pieces_) piece.file->flush();
}

void WeightWriter::commit() {
  flush();
  for (const Piece& piece : pieces_) piece.file->commit();
  if (index_) index_->commit();
}

}  // namespace pptrain
