#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "base/interval.hpp"
#include "base/mapped_file.hpp"
#include "weights/weight_tensor.hpp"

namespace pptrain {

/// Names of the files in a folder of weights.
inline constexpr const char* single_weight_file = "model.safetensors";
inline constexpr const char* weight_index_file = "model.safetensors.index.json";

/// The weights in a folder as Hugging Face's libraries write it: `model.safetensors`, or several
/// files and `model.safetensors.index.json`, which names the file of each tensor.
///
/// Files are mapped into memory. Opening reads and checks index and headers; of the elements each
/// rank touches those that it reads, and the ranks of a host share what is in memory.
class WeightFiles {
 public:
  /// A folder without weights or with two sets of them, a header that contradicts its file
  /// (`read_safetensors_header`), and an index that names files outside the folder, tensors that
  /// are not where it says or not all that are there throw `Error` (exit code 2) with file, tensor,
  /// reason and what to do.
  explicit WeightFiles(const std::string& folder);

  /// The folder as it was given.
  const std::string& folder() const { return folder_; }
  /// All tensors of all files, by name.
  const std::vector<WeightTensor>& tensors() const { return tensors_; }
  /// Whether one of the files has a tensor of this name.
  bool has(const std::string& name) const { return places_.count(name) == 1; }
  /// The tensor of this name; one that is not there throws `Error` (exit code 2) with the nearest
  /// name that is.
  const WeightTensor& tensor(const std::string& name) const;
  /// The path of the file with this tensor, for messages.
  const std::string& file_of(const std::string& name) const;

  /// Reads elements [begin, end) of the flattened tensor, row-major, as fp32; exact for F32, BF16
  /// and F16. `out` has room for `elements.size()`. Other types throw `Error` (exit code 2), as a
  /// missing tensor does.
  void read(const std::string& name, Interval elements, float* out) const;

  /// A single whole number (I64). Another type or shape throws `Error` (exit code 2), as a missing
  /// tensor does.
  std::int64_t count(const std::string& name) const;

 private:
  struct Place {
    std::size_t tensor;
    std::size_t file;
    std::int64_t begin;  ///< byte of the file
  };

  void open_indexed();
  void add_file(const std::string& path);
  void sort_tensors();
  void check_index(const std::map<std::string, std::string>& file_by_name) const;
  const Place& place_of(const std::string& name) const;

  std::string folder_;
  std::vector<MappedFile> files_;
  std::vector<WeightTensor> tensors_;
  std::map<std::string, Place> places_;
};

}  // namespace pptrain
