#pragma once

#include <vector>

#include "base/interval.hpp"
#include "kernels/kernels.hpp"
#include "tensor/tensor.hpp"

namespace pptrain {

/// The type in which gradients go from replica to replica, and what rounds them to it; fp32 needs
/// neither.
struct GradientWire {
  DType type = DType::f32;
  Arena* arena = nullptr;
  Kernels* kernels = nullptr;
};

/// Slices of an array of fp32 in bf16, one behind another, as they travel.
class NarrowBucket {
 public:
  NarrowBucket(const GradientWire& wire, float* wide, std::vector<Interval> slices);

  /// The bf16 values, in the memory of the device.
  BFloat16* data() const { return narrow_.matrix().at<BFloat16>(0); }
  /// Where they lie in `data`.
  const std::vector<Interval>& slices() const { return places_; }
  /// `round` makes bf16 of the fp32 values, `widen` fp32 of the bf16 ones: of all slices, or of
  /// one.
  void round() const;
  /// Rounds one slice, by its number among those of the constructor.
  void round(std::size_t slice) const { convert(slice, wide_of(slice), narrow_of(slice)); }
  /// Writes all bf16 values back to the fp32 array.
  void widen() const;
  /// Writes one slice back, by its number among those of the constructor.
  void widen(std::size_t slice) const { convert(slice, narrow_of(slice), wide_of(slice)); }

 private:
  Matrix wide_of(std::size_t slice) const;
  Matrix narrow_of(std::size_t slice) const;
  void convert(std::size_t slice, const Matrix& from, const Matrix& to) const;

  Kernels* kernels_;
  float* wide_;
  std::vector<Interval> slices_;
  std::vector<Interval> places_;
  Tensor narrow_;
};

}  // namespace pptrain
