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
      const DropoutMask mask = {seed, 5, 1000 * shift + n % 3, 0.3};
      host_kernels().dropout(x.host_f32(), n, mask);
      gpu.kernels.dropout(x.device_f32(), n, mask);
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
    host_kernels().residual_add(x.host(), y.host(), nullptr, out.host());
    gpu.kernels.residual_add(x.device(), y.device(), nullptr, out.device());
    REQUIRE(out.same_bytes());
  });
}

TEST_CASE("more rows than a grid is high", "[cuda]") {
  Gpu gpu;
  Twin x(gpu, 70000, 3, DType::f32, {1, 0}), bias(gpu, 1, 3),
      out(gpu, 70000, 3, DType::f32, {1, 0});
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
        Twin from(gpu, size.rows, size.columns, from_type, layout),
            to(gpu, size.rows, size.columns, to_type, layout);
        from.randomise(seed, 100.0);
        host_kernels().convert(from.host(), to.host());
        gpu.kernels.convert(from.device(), to.device());
        REQUIRE(to.same_bytes());
      }
    }
  });
}

namespace {

constexpr Activation activations[] = {Activation::gelu_tanh, Activation::gelu, Activation::silu,
                                      Activation::relu};

}  // namespace

TEST_CASE("the GPU computes activations and their derivatives as the host", "[cuda]") {
  Gpu gpu;
  with_all([&](Size size, Layout layout, std::uint64_t seed) {
    for (const Activation f : activations) {
      for (const DType type : all_types) {
        CAPTURE(static_cast<int>(f), type_name(type));
        Twin u(gpu, size.rows, size.columns, type, layout),
            dout(gpu, size.rows, size.columns, type),
            du(gpu, size.rows, size.columns, type, layout),
            out(gpu, size.rows, size.columns, type, {5, 0});
        u.randomise(seed, 6.0);
        dout.randomise(seed + 1);
        host_kernels().activation_forward(f, u.host(), out.host());
        gpu.kernels.activation_forward(f, u.device(), out.device());
        REQUIRE(largest_error(out.device_values(), out.host_values()) <= element_bound(type));
        host_kernels().activation_backward(f, u.host(), dout.host(), du.host(), out.host());
        gpu.kernels.activation_backward(f, u.device(), dout.device(), du.device(), out.device());
        REQUIRE(du.surroundings_are_untouched());
        REQUIRE(largest_error(out.device_values(), out.host_values()) <= element_bound(type));
        REQUIRE(largest_error(du.device_values(), du.host_values()) <= element_bound(type));
      }
    }
  });
}

TEST_CASE("the GPU computes gates as the host, also in place of their arguments", "[cuda]") {
  Gpu gpu;
  with_all([&](Size size, Layout layout, std::uint64_t seed) {
    for (const Activation f : activations) {
      for (const DType type : all_types) {
        CAPTURE(static_cast<int>(f), type_name(type));
        Twin gate(gpu, size.rows, size.columns, type, layout),
            up(gpu, size.rows, size.columns, type, layout),
            dout(gpu, size.rows, size.columns, type, layout),
            out(gpu, size.rows, size.columns, type, {5, 0});
        gate.randomise(seed, 4.0);
        up.randomise(seed + 1, 1.5);
        dout.randomise(seed + 2);
        const auto error = [](const Twin& t) {
          return largest_error(t.device_values(), t.host_values());
        };
        host_kernels().gate_forward(f, gate.host(), up.host(), out.host());
        gpu.kernels.gate_forward(f, gate.device(), up.device(), out.device());
        REQUIRE(error(out) <= 2 * element_bound(type));
        host_kernels().gate_backward(
            {f, gate.host(), up.host(), dout.host(), gate.host(), up.host(), dout.host()});
        gpu.kernels.gate_backward({f, gate.device(), up.device(), dout.device(), gate.device(),
                                   up.device(), dout.device()});
        for (const Twin* result : {&gate, &up, &dout}) {
          REQUIRE(error(*result) <= 2 * element_bound(type));
          REQUIRE(result->surroundings_are_untouched());
        }
      }
    }
  });
}

TEST_CASE("the GPU turns rotary positions as the host", "[cuda]") {
  struct Heads {
    std::size_t rows, length, heads, head_size, rotated;
  };
  Gpu gpu;
  const std::uint64_t seed = fresh_seed();
  for (const Heads& c : {Heads{14, 7, 3, 16, 16}, Heads{5, 5, 2, 24, 8}, Heads{6, 3, 1, 80, 80},
                         Heads{9, 9, 4, 6, 2}, Heads{33, 33, 40, 64, 32}, Heads{4, 2, 2, 10, 0}}) {
    for (const Layout layout : layouts) {
      for (const DType type : all_types) {
        CAPTURE(c.rows, c.heads, c.head_size, c.rotated, layout.padding, layout.shift,
                type_name(type), seed);
        Twin x(gpu, c.rows, c.heads * c.head_size, type, layout),
            table(gpu, c.length, c.rotated, DType::f32, layout);
        x.randomise(seed, 2.0);
        table.randomise(seed + 1);
        for (const bool back : {false, true}) {
          host_kernels().rotate(x.host(), c.length, c.heads, table.host(), back);
          gpu.kernels.rotate(x.device(), c.length, c.heads, table.device(), back);
        }
        // Two roundings to the type, the second of what the first may have left one unit apart.
        REQUIRE(largest_error(x.device_values(), x.host_values()) <= 4 * element_bound(type));
        REQUIRE(x.surroundings_are_untouched());
      }
    }
  }
}

TEST_CASE("GELU on the GPU in place, and of values that are no numbers", "[cuda]") {
  Gpu gpu;
  Twin u(gpu, 4, 64), d(gpu, 4, 64);
  u.randomise(1);
  d.randomise(2);
  u.set(1, 7, NAN);
  Twin u_apart(gpu, 4, 64), d_apart(gpu, 4, 64);
  host_kernels().activation_backward(Activation::gelu_tanh, u.host(), d.host(), d_apart.host(),
                                     u_apart.host());
  gpu.kernels.activation_backward(Activation::gelu_tanh, u.device(), d.device(), d.device(),
                                  u.device());
  const TestMatrix value = u.fetch(), derivative = d.fetch();
  for (std::size_t r = 0; r < 4; ++r) {
    for (std::size_t c = 0; c < 64; ++c) {
      REQUIRE(std::isnan(value.get(r, c)) == (r == 1 && c == 7));
      REQUIRE(std::isnan(derivative.get(r, c)) == (r == 1 && c == 7));
    }
  }
}
