#pragma once

#include <string>

#include "base/random.hpp"
#include "data/feature_dataset.hpp"

namespace pptrain {

struct ClusterOptions {
  std::int64_t inputs = 1;
  std::int64_t classes = 2;
  std::uint64_t seed = 0;
  std::string part = "train";  ///< points of another part lie around the same centres
};

/// Points around one centre per class, made when they are asked for: centres are normal(1), points
/// normal(1) around theirs. Row i is of class i mod classes.
class SyntheticClusters final : public FeatureTable {
 public:
  explicit SyntheticClusters(const ClusterOptions& options);

  std::int64_t num_rows() const override { return num_rows_; }
  /// One of each class, where that are not very many.
  std::int64_t num_held_back() const override;
  void row(std::int64_t index, const SampleSlot& slot) const override;

 private:
  ClusterOptions options_;
  std::int64_t num_rows_;
  CounterRandom centres_;
  CounterRandom points_;
};

}  // namespace pptrain
