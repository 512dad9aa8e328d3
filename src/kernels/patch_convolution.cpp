#include <algorithm>
#include <vector>

#include "kernels/gemm.hpp"
#include "kernels/host_convolutions.hpp"

namespace pptrain::kernels {
namespace {

/// One sample at a time: its patches are (Q, C * window), a row as (channel, row, column), so that the forward pass and
/// both gradients are products with the weight as it is.
class PatchConvolutions final : public Convolutions {
 public:
  void forward(const ConvolutionForm& form, const Matrix& x, const float* weight, const float* bias,
               const Matrix& y) override {
    for_each_sample(form, x, y, [&](const float* map, const Matrix& result) {
      gather(form, map);
      GemmOptions options;
      options.bias = bias;
      host_gemm().multiply(Transpose::no, patches(form), Transpose::yes, matrix(form, weight), result, options);
    });
  }

  void backward_input(const ConvolutionForm& form, const Matrix& dy, const float* weight, const Matrix& dx) override {
    for_each_sample(form, dx, dy, [&](float* map, const Matrix& gradient) {
      host_gemm().multiply(Transpose::no, gradient, Transpose::no, matrix(form, weight), patches(form));
      scatter(form, map);
    });
  }

  void backward_weight(const ConvolutionForm& form, const Matrix& x, const Matrix& dy, float* dweight) override {
    bool first = true;
    for_each_sample(form, x, dy, [&](const float* map, const Matrix& gradient) {
      gather(form, map);
      GemmOptions options;
      options.accumulate = !first;
      host_gemm().multiply(Transpose::yes, gradient, Transpose::no, patches(form), matrix(form, dweight), options);
      first = false;
    });
  }

 private:
  template <class Action>
  static void for_each_sample(const ConvolutionForm& form, const Matrix& x, const Matrix& y, const Action& action) {
    const auto pixels = static_cast<std::size_t>(form.window.pixels());
    const auto out = static_cast<std::size_t>(form.window.out_pixels());
    for (std::size_t s = 0; s < x.rows / pixels; ++s) action(x.at<float>(s * pixels), y.rows_from(s * out, out));
  }

  static Matrix matrix(const ConvolutionForm& form, const float* weight) {
    return {const_cast<float*>(weight), static_cast<std::size_t>(form.out),
            static_cast<std::size_t>(form.channels * form.window.area()), DType::f32};
  }
  Matrix patches(const ConvolutionForm& form) {
    const auto rows = static_cast<std::size_t>(form.window.out_pixels());
    const auto columns = static_cast<std::size_t>(form.channels * form.window.area());
    patches_.resize(rows * columns);
    return {patches_.data(), rows, columns, DType::f32};
  }

  /// visit(element of the patches, element of the map, or nothing in the padding) in their order.
  template <class Visit>
  static void for_each_element(const ConvolutionForm& form, const Visit& visit) {
    const Window& w = form.window;
    std::size_t element = 0;
    for (std::int64_t place = 0; place < w.out_pixels(); ++place) {
      const std::int64_t top = place / w.out_width() * w.stride - w.padding;
      const std::int64_t left = place % w.out_width() * w.stride - w.padding;
      for (std::int64_t c = 0; c < form.channels; ++c) {
        for (std::int64_t k = 0; k < w.area(); ++k) {
          const std::int64_t row = top + k / w.kernel_width, column = left + k % w.kernel_width;
          const bool inside = row >= 0 && row < w.height && column >= 0 && column < w.width;
          visit(element++, inside ? (row * w.width + column) * form.channels + c : -1);
        }
      }
    }
  }
  void gather(const ConvolutionForm& form, const float* map) {
    float* to = patches(form).f32();
    for_each_element(form, [=](std::size_t i, std::int64_t from) { to[i] = from < 0 ? 0.0F : map[from]; });
  }
  void scatter(const ConvolutionForm& form, float* map) {
    const float* from = patches(form).f32();
    std::fill_n(map, form.window.pixels() * form.channels, 0.0F);
    for_each_element(form, [=](std::size_t i, std::int64_t to) {
      if (to >= 0) map[to] += from[i];
    });
  }

  std::vector<float> patches_;
};

}  // namespace

std::unique_ptr<Convolutions> make_patch_convolutions() { return std::make_unique<PatchConvolutions>(); }

}  // namespace pptrain::kernels
