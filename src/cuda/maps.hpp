#pragma once

#include "cuda/packs.hpp"
#include "model/forms.hpp"

/// Numbers of feature maps on a GPU, each computed by a thread. C++17.
namespace pptrain::cuda {

/// A window with what follows from it, for device code.
struct DeviceWindow {
  int height, width, kernel_height, kernel_width, stride, padding, out_height, out_width;

  explicit DeviceWindow(const Window& w)
      : height(number(w.height)),
        width(number(w.width)),
        kernel_height(number(w.kernel_height)),
        kernel_width(number(w.kernel_width)),
        stride(number(w.stride)),
        padding(number(w.padding)),
        out_height(number(w.out_height())),
        out_width(number(w.out_width())) {}

  PPTRAIN_FUNCTION int pixels() const { return height * width; }
  PPTRAIN_FUNCTION int places() const { return out_height * out_width; }
  PPTRAIN_FUNCTION int area() const { return kernel_height * kernel_width; }

  /// visit(pixel of the map, its place in the window) for what lies under one place of the window,
  /// row by row.
  template <class Visit>
  PPTRAIN_FUNCTION void for_each_pixel(int place, const Visit& visit) const {
    const int top = place / out_width * stride - padding,
              left = place % out_width * stride - padding;
    for (int row = top < 0 ? 0 : top; row < height && row < top + kernel_height; ++row) {
      for (int column = left < 0 ? 0 : left; column < width && column < left + kernel_width;
           ++column) {
        visit(row * width + column, (row - top) * kernel_width + column - left);
      }
    }
  }

  /// visit(place of the window, the pixel's place in it) for all places with a pixel of the map, in
  /// their order.
  template <class Visit>
  PPTRAIN_FUNCTION void for_each_place(int pixel, const Visit& visit) const {
    const int row = pixel / width + padding, column = pixel % width + padding;
    for (int r = first_place(row, kernel_height); r < out_height && r * stride <= row; ++r) {
      for (int c = first_place(column, kernel_width); c < out_width && c * stride <= column; ++c) {
        visit(r * out_width + c, (row - r * stride) * kernel_width + column - c * stride);
      }
    }
  }

 private:
  static int number(std::int64_t n) { return static_cast<int>(n); }
  /// The first place along a side whose window reaches as far as `at`.
  PPTRAIN_FUNCTION int first_place(int at, int kernel) const {
    return at < kernel ? 0 : (at - kernel) / stride + 1;
  }
};

/// body(row, column) by a thread each.
template <class Body>
struct OfEach {
  Body body;
  template <unsigned N>
  PPTRAIN_FUNCTION void apply(std::size_t row, std::size_t column) const {
    body(row, column);
  }
};

template <class Body>
void launch_numbers(ComputeStream& stream, std::size_t rows, std::size_t columns,
                    const Body& body) {
  launch_packs<1>(stream, {rows, columns}, true, OfEach<Body>{body});
}

}  // namespace pptrain::cuda
