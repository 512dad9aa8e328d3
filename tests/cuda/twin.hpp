#pragma once

#include <cstring>
#include <random>
#include <vector>

#include "cuda/device.hpp"
#include "cuda/kernels.hpp"
#include "kernels/test_matrix.hpp"

/// What the tests of src/cuda share: matrices on the host and the same ones on the GPU.
namespace pptrain::test {

/// A GPU with poisoned memory, and its kernels.
struct Gpu {
  CudaDevice device{0};
  Arena arena{0, "", device};
  CudaKernels kernels{device};

  Gpu() { arena.poison(true); }
};

/// Another seed in every run; a failed test says which (CAPTURE).
inline std::uint64_t fresh_seed() {
  static std::random_device device;
  return device();
}

/// How rows lie: behind each are `padding` elements, and the first begins `shift` elements behind
/// an aligned place.
struct Layout {
  std::size_t padding = 0, shift = 0;
};

/// A matrix on host and GPU.
class Twin {
 public:
  Twin(Gpu& gpu, std::size_t rows, std::size_t columns, DType type = DType::f32, Layout layout = {})
      : gpu_(gpu),
        whole_(rows, columns + layout.shift, type, layout.padding),
        block_(gpu.arena, std::max<std::size_t>(size(), 1)),
        columns_(columns),
        shift_(layout.shift) {
    upload();
  }

  /// Gives host and GPU the same random values.
  Twin& randomise(std::uint64_t seed, double scale = 1.0, double centre = 0.0) {
    whole_.randomise(seed, scale, centre);
    upload();
    return *this;
  }
  void set(std::size_t row, std::size_t column, double value) {
    whole_.set(row, column + shift_, value);
    upload();
  }

  Matrix host() const { return whole_.matrix().columns_from(shift_, columns_); }
  Matrix device() const {
    Matrix all = whole_.matrix();
    all.data = block_.data();
    return all.columns_from(shift_, columns_);
  }
  float* host_f32() const { return host().f32(); }
  float* device_f32() const { return device().f32(); }

  /// What the GPU has, padding and all, as a matrix of the host.
  TestMatrix fetch() const {
    TestMatrix copy(whole_.matrix().rows, columns_ + shift_, whole_.matrix().type,
                    whole_.matrix().stride - columns_ - shift_);
    gpu_.device.download(copy.matrix().data, block_.data(), size());
    return copy;
  }
  Values host_values() const { return values_of(whole_); }
  Values device_values() const { return values_of(fetch()); }
  /// On the GPU, nothing was written beside the rows.
  bool surroundings_are_untouched() const {
    const TestMatrix all = fetch();
    for (std::size_t r = 0; r < all.matrix().rows; ++r) {
      for (std::size_t c = 0; c < shift_; ++c) {
        const double now = all.get(r, c), then = whole_.get(r, c);
        if (now != then && !(std::isnan(now) && std::isnan(then))) return false;
      }
    }
    return all.padding_is_untouched();
  }
  /// The host's bytes are the GPU's, around the matrix too.
  bool same_bytes() const { return whole_.bytes() == fetch().bytes(); }

 private:
  std::size_t size() const { return whole_.bytes().size(); }
  Values values_of(const TestMatrix& all) const {
    Values values;
    for (std::size_t r = 0; r < all.matrix().rows; ++r) {
      for (std::size_t c = 0; c < columns_; ++c) values.push_back(all.get(r, shift_ + c));
    }
    return values;
  }
  void upload() { gpu_.device.upload(block_.data(), whole_.matrix().data, size()); }

  Gpu& gpu_;
  TestMatrix whole_;
  Buffer block_;
  std::size_t columns_, shift_;
};

/// A few values of any type on the GPU.
template <class T>
class DeviceValues {
 public:
  DeviceValues(Gpu& gpu, const std::vector<T>& values)
      : gpu_(gpu), block_(gpu.arena, values.size() * sizeof(T)), count_(values.size()) {
    gpu.device.upload(block_.data(), values.data(), block_.bytes());
  }
  T* data() const { return static_cast<T*>(block_.data()); }
  std::vector<T> fetch() const {
    std::vector<T> values(count_);
    gpu_.device.download(values.data(), block_.data(), block_.bytes());
    return values;
  }

 private:
  Gpu& gpu_;
  Buffer block_;
  std::size_t count_;
};

/// Element by element, without sums, host and GPU may differ by their use of fused multiply-add: a
/// few units in the last place of the intermediate results, here relative to max(|value|, 1).
inline double element_bound(DType type) {
  return type == DType::f32 ? 1e-6 : type == DType::bf16 ? 7.9e-3 : 9.8e-4;
}

}  // namespace pptrain::test
