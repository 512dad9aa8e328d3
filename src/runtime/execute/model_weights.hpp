#pragma once

#include <string>
#include <vector>

#include "model/model.hpp"
#include "weights/weight_files.hpp"

namespace pptrain {

/// The weights of a model in a folder that Hugging Face's libraries have written.
class ModelWeights {
 public:
  /// Opens the folder and compares it with the model: a tensor that is missing, of another shape or
  /// type, or that the model has no use for throws `Error` (exit code 2) with file and tensor. A
  /// tied output layer may be there a second time, if it is equal.
  ModelWeights(const std::string& folder, const Model& model);

  /// Elements [begin, end) of the flattened parameter, fp32. One that is no number or infinite
  /// throws `Error` (exit code 2) with file, tensor and place.
  void read(const ParameterSpec& spec, Interval elements, float* out) const;

  /// Reads all that the model needs; throws as `read` does. Takes as long as the files take to come
  /// into memory.
  void check_values() const;

 private:
  /// The tensor's name in the file, where the first part of ours ("model.", "transformer.") may be
  /// left out.
  std::string name_of(const ParameterSpec& spec) const;
  bool lacks_count(const ParameterSpec& spec) const;
  void check_names(const Model& model) const;
  void check(const ParameterSpec& spec);
  void check_unused(const Model& model) const;
  void check_second_output(const Model& model) const;
  bool are_equal(const std::string& name, const std::string& other, std::int64_t elements) const;

  WeightFiles files_;
  std::vector<std::string> names_;  ///< of all tensors that the model needs, counts aside
  bool bare_ = false;               ///< names are without their first part
};

}  // namespace pptrain
