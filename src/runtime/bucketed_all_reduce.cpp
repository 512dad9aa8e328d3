#include "runtime/bucketed_all_reduce.hpp"

#include <algorithm>

namespace pptrain {

void BucketedAllReduce::add(float* data, std::size_t n) {
  if (group_.size() == 1) return;
  for (std::size_t begin = 0; begin < n; begin += bucket_elements) {
    waiting_.push_back({data + begin, std::min(bucket_elements, n - begin)});
  }
  test();
}

bool BucketedAllReduce::test() {
  for (const PendingPtr& pending : running_) pending->test();
  while (!running_.empty() && running_.front()->test()) running_.pop_front();
  while (!waiting_.empty() && running_.size() < buckets_in_flight) {
    running_.push_back(group_.start_all_reduce_sum(waiting_.front().data, waiting_.front().n));
    waiting_.pop_front();
  }
  return running_.empty();
}

std::string BucketedAllReduce::missing() const { return running_.empty() ? "nothing" : running_.front()->missing(); }

}  // namespace pptrain
