#include "runtime/execute/gradient_sums.hpp"

#include <algorithm>
#include <memory>

#include "nn/parameters/parameter_store.hpp"

namespace pptrain {

GradientSums::GradientSums(PartGroups& groups, const GradientWire& wire)
    : member_(groups.data().rank()),
      members_(groups.data().size()),
      shared_slices_(groups.shared_slices()),
      within_(groups.data(), wire),
      gathers_(groups.gather(), wire) {
  for (const PartGroups::SharedSlice& slice : shared_slices_)
    across_.emplace_back(*slice.owners, wire);
}

void GradientSums::add_all_reduce(float* data, std::size_t n) {
  if (across_.empty()) return within_.add_all_reduce(data, n);
  // Bucket by bucket, so that one is summed between groups while the next is within.
  constexpr std::size_t bucket = GradientReduction::bucket_elements;
  for (std::size_t begin = 0; begin < n; begin += bucket)
    add_two_levels(data + begin, std::min(bucket, n - begin));
}

void GradientSums::add_two_levels(float* data, std::size_t n) {
  std::vector<Interval> slices;
  for (int k = 0; k < members_; ++k)
    slices.push_back({slice_end(n, k, members_), slice_end(n, k + 1, members_)});
  const Interval own = slices[static_cast<std::size_t>(member_)];
  within_.add_reduce_scatter(data, slices, [this, data, n, slices, own] {
    // Slices end in the order in which they begin: the last of this array's is the last of all that
    // ends.
    const auto open = std::make_shared<std::size_t>(across_.size());
    sum_across(data + own.begin, own, n, [this, data, slices, open] {
      if (--*open == 0) gathers_.add_all_gather(data, slices);
    });
  });
}

void GradientSums::add_reduce_scatter(float* data, const std::vector<Interval>& slices,
                                      std::function<void()> ended) {
  within_.add_reduce_scatter(data, slices, std::move(ended));
}

void GradientSums::add_across(float* slice, Interval own, std::size_t size) {
  if (across_.empty()) return;
  within_.then([this, slice, own, size] { sum_across(slice, own, size, {}); });
}

/// `ended` is called once for each shared slice.
void GradientSums::sum_across(float* slice, Interval own, std::size_t size,
                              const std::function<void()>& ended) {
  const auto place = [size](const Fraction& f) { return slice_end(size, f.k, f.n); };
  for (std::size_t i = 0; i < across_.size(); ++i) {
    const std::int64_t begin = place(shared_slices_[i].begin);
    const std::int64_t end = place(shared_slices_[i].end);
    across_[i].add_all_reduce(slice + (begin - own.begin), static_cast<std::size_t>(end - begin),
                              ended);
  }
}

void GradientSums::drop_ended() {
  within_.drop_ended();
  for (GradientReduction& across : across_) across.drop_ended();
  gathers_.drop_ended();
}

bool GradientSums::advance(bool (Pending::*ended)()) {
  bool all = (within_.*ended)();
  for (GradientReduction& across : across_) all = (across.*ended)() && all;
  return (gathers_.*ended)() && all;
}

std::string GradientSums::missing() const {
  std::string missing = within_.missing();
  for (const GradientReduction& across : across_) {
    if (missing == nothing_missing) missing = across.missing();
  }
  return missing == nothing_missing ? gathers_.missing() : missing;
}

}  // namespace pptrain
