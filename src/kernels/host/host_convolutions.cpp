#include "kernels/host/host_convolutions.hpp"

#include <algorithm>

#include "kernels/host/host_kernels.hpp"
#include "kernels/host/host_scratch.hpp"
#include "kernels/host/launch.hpp"
#include "kernels/host/onednn_matmul.hpp"
#include "kernels/patch_convolution.hpp"

namespace pptrain::kernels {
namespace {

/// visit(row of the patches, place in the window, pixel of the map, or nothing in the padding) in
/// their order.
template <class Visit>
void for_each_patch_pixel(const Window& w, std::size_t rows, const Visit& visit) {
  for (std::size_t row = 0; row < rows; ++row) {
    const std::int64_t sample = static_cast<std::int64_t>(row) / w.out_pixels();
    const std::int64_t place = static_cast<std::int64_t>(row) % w.out_pixels();
    const std::int64_t top = place / w.out_width() * w.stride - w.padding;
    const std::int64_t left = place % w.out_width() * w.stride - w.padding;
    for (std::int64_t k = 0; k < w.area(); ++k) {
      const std::int64_t y = top + k / w.kernel_width, x = left + k % w.kernel_width;
      const bool inside = y >= 0 && y < w.height && x >= 0 && x < w.width;
      visit(row, static_cast<std::size_t>(k), inside ? sample * w.pixels() + y * w.width + x : -1);
    }
  }
}

template <class T>
void gather_as(const Window& window, const Matrix& x, const Matrix& patches) {
  const auto area = static_cast<std::size_t>(window.area());
  for_each_patch_pixel(
      window, patches.rows, [&](std::size_t row, std::size_t k, std::int64_t pixel) {
        T* to = patches.at<T>(row, k);
        const float* from = pixel < 0 ? nullptr : x.at<float>(static_cast<std::size_t>(pixel));
        if (area == 1 && from != nullptr) {
          for (std::size_t c = 0; c < x.columns; ++c) to[c] = T(from[c]);
        } else {
          for (std::size_t c = 0; c < x.columns; ++c)
            to[c * area] = T(from == nullptr ? 0.0F : from[c]);
        }
      });
}

class HostPatchConvolutions final : public PatchConvolutions {
 public:
  HostPatchConvolutions() : PatchConvolutions(host_gemm()) {}

  DType factors(DType compute) const override { return host_factors(compute); }

 protected:
  Matrix room(std::size_t rows, std::size_t columns, DType type) override {
    return {patches_.take_bytes(rows * columns * size_of(type)), rows, columns, type};
  }
  void gather(const Window& window, const Matrix& x, const Matrix& patches) override {
    if (patches.type == DType::bf16) return gather_as<BFloat16>(window, x, patches);
    gather_as<float>(window, x, patches);
  }
  void scatter(const Window& window, const Matrix& patches, const Matrix& dx) override {
    const auto area = static_cast<std::size_t>(window.area());
    std::fill_n(dx.f32(), dx.size(), 0.0F);
    for_each_patch_pixel(window, patches.rows,
                         [&](std::size_t row, std::size_t k, std::int64_t pixel) {
                           if (pixel < 0) return;
                           const float* from = patches.at<float>(row, k);
                           float* to = dx.at<float>(static_cast<std::size_t>(pixel));
                           for (std::size_t c = 0; c < dx.columns; ++c) to[c] += from[c * area];
                         });
  }
  Matrix rounded(const Matrix& map, DType factors) override {
    if (map.type == factors) return map;
    const Matrix copy(rounded_.take_bytes(map.size() * size_of(factors)), map.rows, map.columns,
                      factors);
    host_kernels().convert(map, copy);
    return copy;
  }

 private:
  HostScratch patches_, rounded_;
};

class HostConvolutions final : public Convolutions {
 public:
  DType factors(DType compute) const override { return host_factors(compute); }
  void forward(const ConvolutionForm& form, const Matrix& x, const Matrix& weight,
               const float* bias, const Matrix& y) override {
    faster(form, y).forward(form, x, weight, bias, y);
  }
  void backward_input(const ConvolutionForm& form, const Matrix& dy, const Matrix& weight,
                      const Matrix& dx) override {
    faster(form, dy).backward_input(form, dy, weight, dx);
  }
  void backward_weight(const ConvolutionForm& form, const Matrix& x, const Matrix& dy,
                       float* dweight) override {
    faster(form, dy).backward_weight(form, x, dy, dweight);
  }

 private:
  /// oneDNN brings weights into an order of its own and back, which takes longer than it gains
  /// where there are few pixels for so many weights; in bf16 it multiplies single pixels no faster
  /// than matrices. Measured on a Zen 4 with the layers of ResNet-50.
  Convolutions& faster(const ConvolutionForm& form, const Matrix& y) const {
    constexpr std::int64_t many_weights_per_pixel = 4096;
    const bool of_pixels = form.window.area() == 1 && form.factors == DType::bf16;
    const bool few_pixels =
        form.weights() >= many_weights_per_pixel * static_cast<std::int64_t>(y.rows);
    return direct_ == nullptr || of_pixels || few_pixels ? *patches_ : *direct_;
  }

  std::unique_ptr<Convolutions> direct_ = make_onednn_convolutions(),
                                patches_ = make_patch_convolutions();
};

}  // namespace

DType host_factors(DType compute) {
  return compute == DType::bf16 && onednn_has_bf16_tiles() ? DType::bf16 : DType::f32;
}
std::unique_ptr<Convolutions> make_patch_convolutions() {
  return std::make_unique<HostPatchConvolutions>();
}
std::unique_ptr<Convolutions> make_host_convolutions() {
  return std::make_unique<HostConvolutions>();
}

}  // namespace pptrain::kernels
