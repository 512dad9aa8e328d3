#include "weights/weight_files.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <set>

#include "base/error.hpp"
#include "base/names.hpp"
#include "weights/safetensors_header.hpp"
#include "weights/weight_index.hpp"

namespace pptrain {
namespace {

namespace fs = std::filesystem;

/// Says why a folder without `model.safetensors` and index has no weights.
[[noreturn]] void refuse_folder(const fs::path& folder) {
  std::error_code ignored;
  if (!fs::is_directory(folder, ignored)) {
    throw_bad_input({folder.string(), "is no folder with weights",
                     "a folder with model.safetensors is expected",
                     "name the folder, not a file in it"});
  }
  for (const char* other : {"pytorch_model.bin", "pytorch_model.bin.index.json"}) {
    if (fs::exists(folder / other, ignored)) {
      throw_bad_input({folder.string(), "holds no safetensors file",
                       fmt::format("{} is a pickle, which may run code", other),
                       "convert it: save_pretrained of transformers writes model.safetensors"});
    }
  }
  throw_bad_input({folder.string(), "holds no weights",
                   fmt::format("neither {} nor {} is there", single_weight_file, weight_index_file),
                   "name the folder that save_pretrained has written or that was fetched whole"});
}

}  // namespace

WeightFiles::WeightFiles(const std::string& folder) : folder_(folder) {
  std::error_code ignored;
  if (fs::exists(fs::path(folder) / weight_index_file, ignored)) {
    open_indexed();
  } else if (fs::exists(fs::path(folder) / single_weight_file, ignored)) {
    add_file((fs::path(folder) / single_weight_file).string());
  } else {
    refuse_folder(folder);
  }
  sort_tensors();
}

void WeightFiles::open_indexed() {
  const fs::path folder = folder_;
  const std::string index = (folder / weight_index_file).string();
  const std::map<std::string, std::string> file_by_name = read_weight_index(index);
  std::set<std::string> names;
  for (const auto& [tensor, file] : file_by_name) names.insert(file);
  std::error_code ignored;
  if (names.count(single_weight_file) == 0 && fs::exists(folder / single_weight_file, ignored)) {
    throw_bad_input({folder_, fmt::format("holds {} and {}", single_weight_file, weight_index_file),
                     "the index does not name that file, so they are two sets of weights",
                     "remove one of them"});
  }
  for (const std::string& name : names) {
    if (!fs::exists(folder / name, ignored)) {
      throw_bad_input({index, fmt::format("names {}, which is not there", name),
                       "a part of the weights is missing", "fetch or copy the whole folder"});
    }
    add_file((folder / name).string());
  }
  check_index(file_by_name);
}

void WeightFiles::add_file(const std::string& path) {
  const MappedFile& file = files_.emplace_back(path, folder_);
  for (StoredTensor& stored : read_safetensors_header(file.bytes(), path)) {
    const std::string name = stored.tensor.name;
    const auto [place, is_new] =
        places_.try_emplace(name, Place{tensors_.size(), files_.size() - 1, stored.bytes.begin});
    if (!is_new) {
      throw_bad_input({fmt::format("{}: tensor \"{}\"", path, name), "is in two files",
                       files_[place->second.file].path() + " has it too",
                       "fetch or write the files again"});
    }
    tensors_.push_back(std::move(stored.tensor));
  }
}

void WeightFiles::check_index(const std::map<std::string, std::string>& file_by_name) const {
  const std::string index = (fs::path(folder_) / weight_index_file).string();
  const std::string again = "fetch or write the folder again";
  for (const auto& [name, file] : file_by_name) {
    const auto place = places_.find(name);
    if (place == places_.end() || fs::path(files_[place->second.file].path()).filename() != file) {
      throw_bad_input({fmt::format("{}: tensor \"{}\"", index, name),
                       fmt::format("is not in {}", file), "the index says that it is there",
                       again});
    }
  }
  for (const WeightTensor& tensor : tensors_) {
    if (file_by_name.count(tensor.name) == 1) continue;
    throw_bad_input({fmt::format("{}: tensor \"{}\"", file_of(tensor.name), tensor.name),
                     "is not in the index", index + " names all others", again});
  }
}

void WeightFiles::sort_tensors() {
  std::sort(tensors_.begin(), tensors_.end(),
            [](const WeightTensor& a, const WeightTensor& b) { return a.name < b.name; });
  for (std::size_t i = 0; i < tensors_.size(); ++i) places_.at(tensors_[i].name).tensor = i;
}

const WeightFiles::Place& WeightFiles::place_of(const std::string& name) const {
  const auto place = places_.find(name);
  if (place != places_.end()) return place->second;
  std::vector<std::string> names;
  for (const WeightTensor& tensor : tensors_) names.push_back(tensor.name);
  const std::string nearest = nearest_name(name, names);
  throw_bad_input(
      {fmt::format("{}: tensor \"{}\"", folder_, name), "is not there",
       "the model has this parameter",
       nearest.empty()
           ? "give the weights of a model of the same kind"
           : fmt::format("the nearest name is \"{}\": are these the weights of this model?",
                         nearest)});
}

const WeightTensor& WeightFiles::tensor(const std::string& name) const {
  return tensors_[place_of(name).tensor];
}

const std::string& WeightFiles::file_of(const std::string& name) const {
  return files_[place_of(name).file].path();
}

std::int64_t WeightFiles::count(const std::string& name) const {
  const Place& place = place_of(name);
  const WeightTensor& found = tensors_[place.tensor];
  if (!is_count(found.type) || num_elements(found) != 1) {
    throw_bad_input(
        {fmt::format("{}: tensor \"{}\"", file_of(name), name),
         fmt::format("has {} elements of the type {}", num_elements(found), name_of(found.type)),
         "it is one whole number (I64)", "use the weights of another export"});
  }
  return read_count(files_[place.file].bytes().data() + place.begin);
}

void WeightFiles::read(const std::string& name, Interval elements, float* out) const {
  const Place& place = place_of(name);
  const WeightTensor& found = tensors_[place.tensor];
  if (!is_convertible(found.type)) {
    throw_bad_input({fmt::format("{}: tensor \"{}\"", file_of(name), name),
                     fmt::format("has the type {}", name_of(found.type)),
                     "weights are read from F32, BF16 and F16",
                     "convert the tensor to one of these"});
  }
  PPTRAIN_ASSERT(
      0 <= elements.begin && elements.begin <= elements.end && elements.end <= num_elements(found),
      "[{}, {}) of {}", elements.begin, elements.end, name);
  const std::int64_t element_bytes = bits_of(found.type) / 8;
  const std::byte* stored =
      files_[place.file].bytes().data() + place.begin + elements.begin * element_bytes;
  widen(found.type, stored, {out, static_cast<std::size_t>(elements.size())});
}

}  // namespace pptrain
