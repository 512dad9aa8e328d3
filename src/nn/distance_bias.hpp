#pragma once

#include <vector>

#include "model/operators.hpp"
#include "tensor/tensor.hpp"

namespace pptrain {

/// Between the table of a bias, (heads, buckets) fp32, and what attention reads of it, (heads, queries + keys - 1)
/// fp32: column c for keys that stand c - (queries - 1) positions behind their query. Computed on the host.
class DistanceBias {
 public:
  DistanceBias(const DistanceBuckets& buckets, std::size_t queries, std::size_t keys);

  std::size_t distances() const { return bucket_.size(); }
  /// Every distance takes the values of its bucket.
  void spread(const Matrix& table, const Matrix& by_distance) const;
  /// table[h][b] = the sum of what the distances of the bucket have, in their order.
  void collect(const Matrix& by_distance, const Matrix& table) const;

 private:
  std::vector<std::size_t> bucket_;  // by column
};

}  // namespace pptrain
