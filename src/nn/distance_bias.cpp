#include "nn/distance_bias.hpp"

#include <vector>

namespace pptrain {

DistanceBias::DistanceBias(const DistanceBuckets& buckets, std::size_t queries, std::size_t keys,
                           Arena& arena)
    : count_(queries + keys - 1), of_columns_(arena, count_ * sizeof(std::int32_t)) {
  const auto nearest = static_cast<std::int64_t>(queries) - 1;
  std::vector<std::int32_t> values;
  for (std::int64_t column = 0; column < static_cast<std::int64_t>(count_); ++column) {
    values.push_back(static_cast<std::int32_t>(bucket_of(buckets, column - nearest)));
  }
  arena.device().upload(of_columns_.data(), values.data(), of_columns_.bytes());
}

}  // namespace pptrain
