#pragma once

#include <map>
#include <vector>

#include "io/run/metrics_history.hpp"
#include "model/model.hpp"

namespace pptrain {

/// How many rows went to each expert of each layer that has any.
class ExpertLoads {
 public:
  explicit ExpertLoads(const Model& model);

  /// All numbers, layer by layer, expert by expert; layers with fewer experts than others have
  /// zeros behind theirs.
  std::vector<double>& rows() { return rows_; }
  /// The numbers of a layer, or null where it has no experts.
  double* of(std::int64_t layer);
  /// Sets all numbers to 0, as an iteration begins.
  void clear() { rows_.assign(rows_.size(), 0.0); }

  /// Whose numbers these are, as metrics.h5 says it.
  const ExpertColumns& columns() const { return columns_; }

 private:
  ExpertColumns columns_;
  std::map<std::int64_t, std::size_t> place_;  ///< of a layer's first number
  std::vector<double> rows_;
};

}  // namespace pptrain
