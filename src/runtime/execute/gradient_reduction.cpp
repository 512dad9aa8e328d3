#include "runtime/execute/gradient_reduction.hpp"

#include <algorithm>
#include <memory>
#include <utility>

namespace pptrain {
namespace {

/// Slices of an array end on cache lines: the longest is so much longer than the mean, and still
/// one bucket's part.
constexpr std::size_t cut_elements = 16;

}  // namespace

void GradientReduction::add_all_reduce(float* data, std::size_t n, std::function<void()> ended) {
  if (group_.size() == 1) n = 0;
  const std::size_t longest = is_queued() ? queued_elements : bucket_elements;
  for (std::size_t begin = 0; begin < n; begin += longest) {
    const auto size = static_cast<std::int64_t>(std::min(longest, n - begin));
    waiting_.push_back({Collective::all_reduce_sum, data + begin, {{0, size}}, !is_queued()});
  }
  if (n == 0) return then(std::move(ended));
  waiting_.back().ended = std::move(ended);
  test();
}

void GradientReduction::add_reduce_scatter(float* data, const std::vector<Interval>& slices,
                                           std::function<void()> ended) {
  // A bucket takes a part of every member's slice, so that all have as much to sum.
  std::int64_t longest = 0;
  for (const Interval& slice : slices) longest = std::max(longest, slice.size());
  const bool keeps_memory = ended || !is_queued();
  const std::size_t elements = keeps_memory ? bucket_elements : queued_elements;
  const auto part = static_cast<std::int64_t>(elements / slices.size() + cut_elements);
  ++num_open_;
  for (std::int64_t begin = 0; begin == 0 || begin < longest; begin += part) {
    Bucket bucket = {
        Collective::reduce_scatter_sum, data, {}, keeps_memory, begin + part >= longest};
    for (const Interval& slice : slices) {
      bucket.slices.push_back({std::min(slice.begin + begin, slice.end),
                               std::min(slice.begin + begin + part, slice.end)});
    }
    if (bucket.is_last) bucket.ended = std::move(ended);
    waiting_.push_back(std::move(bucket));
  }
  test();
}

void GradientReduction::add_all_gather(float* data, const std::vector<Interval>& slices) {
  waiting_.push_back({Collective::all_gather, data, slices, !is_queued()});  // needs no buffer,
                                                                             // however long
  test();
}

void GradientReduction::then(std::function<void()> ended) {
  waiting_.push_back({{}, nullptr, {}, true, false, std::move(ended)});
  test();
}

bool GradientReduction::is_queued() const {
  return group_.queues_collectives() && wire_.type == DType::f32;
}

PendingPtr GradientReduction::start_narrow(Bucket& bucket) {
  const auto narrow = std::make_shared<NarrowBucket>(wire_, bucket.data, bucket.slices);
  const auto own = static_cast<std::size_t>(group_.rank());
  const bool scatters = bucket.collective == Collective::reduce_scatter_sum;
  bucket.ended = [narrow, own, scatters, ended = std::move(bucket.ended)] {
    scatters ? narrow->widen(own) : narrow->widen();
    if (ended) ended();
  };
  bucket.collective == Collective::all_gather ? narrow->round(own) : narrow->round();
  return group_.start(*bucket.collective, narrow->data(), DType::bf16, narrow->slices());
}

bool GradientReduction::advance(Question ended) {
  for (const Running& running : running_) {
    if (running.pending && !running.has_ended) ((*running.pending).*ended)();
  }
  for (bool moves = true; moves;) {
    moves = end_next(ended);
    moves = start_next() || moves;
  }
  return running_.empty() || running_.back().has_ended;
}

bool GradientReduction::end_next(Question ended) {
  const auto next = std::find_if(running_.begin(), running_.end(),
                                 [](const Running& running) { return !running.has_ended; });
  if (next == running_.end() || (next->pending && !((*next->pending).*ended)())) return false;
  next->has_ended = true;
  if (next->is_last) --num_open_;
  if (next->ended) next->ended();
  return true;
}

bool GradientReduction::start_next() {
  if (waiting_.empty()) return false;
  while (!running_.empty() && running_.front().has_ended && !running_.front().keeps_memory)
    running_.pop_front();
  Bucket& next = waiting_.front();
  if (next.keeps_memory && num_keepers() == buckets_in_flight && !drop_first_keeper()) return false;
  PendingPtr pending;
  if (next.collective && wire_.type == DType::bf16 && group_.size() > 1) {
    pending = start_narrow(next);
  } else if (next.collective) {
    pending = group_.start(*next.collective, next.data, DType::f32, next.slices);
  }
  running_.push_back({std::move(pending), next.keeps_memory, next.is_last, std::move(next.ended)});
  waiting_.pop_front();
  return true;
}

std::size_t GradientReduction::num_keepers() const {
  return static_cast<std::size_t>(
      std::count_if(running_.begin(), running_.end(),
                    [](const Running& running) { return running.keeps_memory; }));
}

bool GradientReduction::drop_first_keeper() {
  bool dropped = false;
  while (!dropped && !running_.empty() && running_.front().has_ended) {
    dropped = running_.front().keeps_memory;
    running_.pop_front();
  }
  return dropped;
}

void GradientReduction::drop_ended() {
  while (drop_first_keeper()) {
  }
}

std::string GradientReduction::missing() const {
  for (const Running& running : running_) {
    if (!running.has_ended && running.pending) return running.pending->missing();
  }
  return nothing_missing;
}

}  // namespace pptrain
