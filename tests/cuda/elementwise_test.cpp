#include <vector>

#include "cuda/twin.hpp"

using namespace pptrain;
using namespace pptrain::test;

namespace {

struct Size {
  std::size_t rows, columns;
};
// Odd ones, whole packs, more than one block.
const std::vector<Size> sizes{{1, 1}, {3, 5}, {17, 33}, {16, 256}, {35, 776}};
const std::vector<Layout> layouts{{0, 0}, {8, 0}, {3, 0}, {7, 0}, {7, 1}};

/// f(size, layout, seed) for all of them.
template <class F>
void with_all(const F& f) {
  const std::uint64_t seed = fresh_seed();
  for (const Size size : sizes) {
    for (const Layout layout : layouts) {
      CAPTURE(size.rows, size.columns, layout.padding, layout.shift, seed);
      f(size, layout, seed);
    }
  }
}

}  // namespace

TEST_CASE("the GPU adds and scales as the host", "[cuda]") {
  Gpu gpu;
  const std::uint64_t seed = fresh_seed();
  for (const std::size_t n : {1, 4, 1000, 1001, 300000}) {
    for (const std::size_t shift : {0, 1, 4}) {
      CAPTURE(n, shift, seed);
      Twin x(gpu, 1, n, DType::f32, {0, shift}), y(gpu, 1, n, DType::f32, {0, shift});
      x.randomise(seed);
      y.randomise(seed + 1);
      host_kernels().add(x.host_f32(), y.host_f32(), n);
      gpu.kernels.add(x.device_f32(), y.device_f32(), n);
      REQUIRE(y.same_bytes());
      host_kernels().scale(x.host_f32(), 0.3f, n);
      gpu.kernels.scale(x.device_f32(), 0.3f, n);
      REQUIRE(x.same_bytes());
      gpu.kernels.fill_zero(x.device_f32(), n);
      host_kernels().fill_zero(x.host_f32(), n);
      REQUIRE(x.same_bytes());
    }
  }
}

TEST_CASE("the GPU adds a residual as the host", "[cuda]") {
  Gpu gpu;
  with_all([&](Size size, Layout layout, std::uint64_t seed) {
    Twin x(gpu, size.rows, size.columns, DType::f32, layout), y(gpu, size.rows, size.columns),
        out(gpu, size.rows, size.columns, DType::f32, layout), bias(gpu, 1, size.columns);
    x.randomise(seed);
    y.randomise(seed + 1);
    bias.randomise(seed + 2);
    host_kernels().residual_add(x.host(), y.host(), bias.host_f32(), out.host());
    gpu.kernels.residual_add(x.device(), y.device(), bias.device_f32(), out.device());
    REQUIRE(out.same_bytes());
  });
}

TEST_CASE("more rows than a grid is high", "[cuda]") {
  Gpu gpu;
  Twin x(gpu, 70000, 3, DType::f32, {1, 0}), bias(gpu, 1, 3), out(gpu, 70000, 3, DType::f32, {1, 0});
  x.randomise(fresh_seed());
  bias.randomise(fresh_seed());
  host_kernels().residual_add(x.host(), x.host(), bias.host_f32(), out.host());
  gpu.kernels.residual_add(x.device(), x.device(), bias.device_f32(), out.device());
  REQUIRE(out.same_bytes());
}

TEST_CASE("the GPU converts between types as the host", "[cuda]") {
  Gpu gpu;
  with_all([&](Size size, Layout layout, std::uint64_t seed) {
    for (const DType from_type : all_types) {
      for (const DType to_type : all_types) {
        Twin from(gpu, size.rows, size.columns, from_type, layout), to(gpu, size.rows, size.columns, to_type, layout);
        from.randomise(seed, 100.0);
        host_kernels().convert(from.host(), to.host());
        gpu.kernels.convert(from.device(), to.device());
        REQUIRE(to.same_bytes());
      }
    }
  });
}

TEST_CASE("the GPU computes GELU and its derivative as the host", "[cuda]") {
  Gpu gpu;
  with_all([&](Size size, Layout layout, std::uint64_t seed) {
    for (const DType type : all_types) {
      CAPTURE(type_name(type));
      Twin u(gpu, size.rows, size.columns, type, layout), dout(gpu, size.rows, size.columns, type),
          du(gpu, size.rows, size.columns, type, layout), out(gpu, size.rows, size.columns, type, {5, 0});
      u.randomise(seed, 6.0);
      dout.randomise(seed + 1);
      host_kernels().gelu_forward(u.host(), out.host());
      gpu.kernels.gelu_forward(u.device(), out.device());
      REQUIRE(largest_error(out.device_values(), out.host_values()) <= element_bound(type));
      host_kernels().gelu_backward(u.host(), dout.host(), du.host(), out.host());
      gpu.kernels.gelu_backward(u.device(), dout.device(), du.device(), out.device());
      REQUIRE(du.surroundings_are_untouched());
      REQUIRE(largest_error(out.device_values(), out.host_values()) <= element_bound(type));
      REQUIRE(largest_error(du.device_values(), du.host_values()) <= element_bound(type));
    }
  });
}

TEST_CASE("GELU on the GPU in place, and of values that are no numbers", "[cuda]") {
  Gpu gpu;
  Twin u(gpu, 4, 64), d(gpu, 4, 64);
  u.randomise(1);
  d.randomise(2);
  u.set(1, 7, NAN);
  Twin u_apart(gpu, 4, 64), d_apart(gpu, 4, 64);
  host_kernels().gelu_backward(u.host(), d.host(), d_apart.host(), u_apart.host());
  gpu.kernels.gelu_backward(u.device(), d.device(), d.device(), u.device());
  const TestMatrix value = u.fetch(), derivative = d.fetch();
  for (std::size_t r = 0; r < 4; ++r) {
    for (std::size_t c = 0; c < 64; ++c) {
      REQUIRE(std::isnan(value.get(r, c)) == (r == 1 && c == 7));
      REQUIRE(std::isnan(derivative.get(r, c)) == (r == 1 && c == 7));
    }
  }
}
