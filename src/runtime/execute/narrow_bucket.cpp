#include "runtime/execute/narrow_bucket.hpp"

#include <utility>

namespace pptrain {

NarrowBucket::NarrowBucket(const GradientWire& wire, float* wide, std::vector<Interval> slices)
    : kernels_(wire.kernels), wide_(wide), slices_(std::move(slices)) {
  std::int64_t end = 0;
  for (const Interval& slice : slices_) {
    places_.push_back({end, end + slice.size()});
    end += slice.size();
  }
  narrow_ = Tensor(*wire.arena, 1, static_cast<std::size_t>(end), wire.type);
}

Matrix NarrowBucket::wide_of(std::size_t slice) const {
  return {wide_ + slices_[slice].begin, 1, static_cast<std::size_t>(slices_[slice].size())};
}

Matrix NarrowBucket::narrow_of(std::size_t slice) const {
  const Interval place = places_[slice];
  return narrow_.matrix().columns_from(static_cast<std::size_t>(place.begin),
                                       static_cast<std::size_t>(place.size()));
}

void NarrowBucket::convert(std::size_t slice, const Matrix& from, const Matrix& to) const {
  if (!slices_[slice].empty()) kernels_->convert(from, to);
}

void NarrowBucket::round() const {
  for (std::size_t slice = 0; slice < slices_.size(); ++slice) round(slice);
}

void NarrowBucket::widen() const {
  for (std::size_t slice = 0; slice < slices_.size(); ++slice) widen(slice);
}

}  // namespace pptrain
