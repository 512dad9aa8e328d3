#pragma once

#include "model/operators.hpp"
#include "tensor/arena.hpp"

namespace pptrain {

/// The distances between queries and keys, each of which takes the values of its bucket of a table,
/// (heads, buckets): attention reads them as (heads, queries + keys - 1), column c for keys that
/// stand c - (queries - 1) positions behind their query.
class DistanceBias {
 public:
  /// Buckets are kept in the arena's memory.
  DistanceBias(const DistanceBuckets& buckets, std::size_t queries, std::size_t keys, Arena& arena);

  /// Columns that attention reads: queries + keys - 1.
  std::size_t distances() const { return count_; }
  /// (distances()) in the memory of the device: the bucket of each.
  const std::int32_t* buckets() const {
    return static_cast<const std::int32_t*>(of_columns_.data());
  }

 private:
  std::size_t count_;
  Buffer of_columns_;
};

}  // namespace pptrain
