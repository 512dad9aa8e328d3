#include "nn/distance_bias.hpp"

#include <algorithm>

namespace pptrain {

DistanceBias::DistanceBias(const DistanceBuckets& buckets, std::size_t queries, std::size_t keys) {
  const auto nearest = static_cast<std::int64_t>(queries) - 1;
  for (std::int64_t column = 0; column < nearest + static_cast<std::int64_t>(keys); ++column) {
    bucket_.push_back(static_cast<std::size_t>(bucket_of(buckets, column - nearest)));
  }
}

void DistanceBias::spread(const Matrix& table, const Matrix& by_distance) const {
  for (std::size_t head = 0; head < table.rows; ++head) {
    const float* from = table.at<float>(head);
    float* to = by_distance.at<float>(head);
    for (std::size_t c = 0; c < bucket_.size(); ++c) to[c] = from[bucket_[c]];
  }
}

void DistanceBias::collect(const Matrix& by_distance, const Matrix& table) const {
  for (std::size_t head = 0; head < table.rows; ++head) {
    const float* from = by_distance.at<float>(head);
    float* to = table.at<float>(head);
    std::fill_n(to, table.columns, 0.0F);
    for (std::size_t c = 0; c < bucket_.size(); ++c) to[bucket_[c]] += from[c];
  }
}

}  // namespace pptrain
