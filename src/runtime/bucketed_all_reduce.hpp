#pragma once

#include <deque>

#include "comm/communicator.hpp"

namespace pptrain {

/// All-reduce of a long array in buckets, a few of which are under way at once: the buffers stay
/// small, and the second half of one bucket overlaps the first half of the next.
class BucketedAllReduce final : public Pending {
 public:
  static constexpr std::size_t bucket_elements = 1 << 20;  ///< 4 MiB of fp32
  static constexpr std::size_t buckets_in_flight = 2;

  explicit BucketedAllReduce(Communicator& group) : group_(group) {}

  /// Queues another array. The members of the group must queue the same lengths in the same order.
  void add(float* data, std::size_t n);
  bool test() override;
  std::string missing() const override;

 private:
  struct Bucket {
    float* data;
    std::size_t n;
  };
  Communicator& group_;
  std::deque<Bucket> waiting_;
  std::deque<PendingPtr> running_;
};

}  // namespace pptrain
