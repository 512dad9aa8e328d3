#pragma once

#include <map>
#include <string>
#include <vector>

#include "model/model.hpp"

namespace pptrain {

/// How many rows went to each expert of each layer that has any.
class ExpertLoads {
 public:
  explicit ExpertLoads(const Model& model);

  /// Layer by layer, expert by expert; layers with fewer experts than others have zeros behind theirs.
  std::vector<double>& rows() { return rows_; }
  /// Those of a layer, or null where it has no experts.
  double* of(std::int64_t layer);
  void clear() { rows_.assign(rows_.size(), 0.0); }

  /// Names of the layers with experts, in their order, and how many numbers each has.
  const std::vector<std::string>& layers() const { return names_; }
  std::int64_t experts() const { return experts_; }

 private:
  std::vector<std::string> names_;
  std::map<std::int64_t, std::size_t> place_;  ///< of a layer's first number
  std::int64_t experts_ = 0;
  std::vector<double> rows_;
};

}  // namespace pptrain
