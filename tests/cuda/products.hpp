#pragma once

#include <cmath>
#include <memory>

#include "cuda/gemm.hpp"
#include "cuda/twin.hpp"

/// What the tests of products share: one product on the host and on the GPU.
namespace pptrain::test {

struct Shape {
  std::size_t m, n, k;
};
/// What is asked for with a product.
struct Wants {
  bool accumulate = false, bias = false, gelu = false, gelu_backward = false, bias_gradient = false;
};
struct Types {
  DType a, b, c;
};

struct GpuProducts : Gpu {
  std::unique_ptr<Gemm> gemm = make_cuda_gemm(device, kernels);
};

class Product {
 public:
  Product(GpuProducts& gpu, Shape s, Transpose transpose_a, Transpose transpose_b, Types types,
          std::size_t padding = 3, std::uint64_t seed = fresh_seed())
      : gpu_(gpu),
        ta_(transpose_a),
        tb_(transpose_b),
        k_(s.k),
        seed_(seed),
        a_(operand(ta_, s.m, s.k, types.a, padding)),
        b_(operand(tb_, s.k, s.n, types.b, padding)),
        c_(gpu, s.m, s.n, types.c, {padding, 0}),
        bias_(gpu, 1, s.n),
        gelu_(gpu, s.m, s.n, types.c, {padding, 0}),
        u_(gpu, s.m, s.n, types.c, {padding, 0}),
        sums_(gpu, 1, s.m) {
    a_.randomise(seed);
    b_.randomise(seed + 1);
    bias_.randomise(seed + 2);
    u_.randomise(seed + 3, 2.0);
    sums_.randomise(seed + 4);
  }

  void run(const Wants& wants) {
    if (wants.accumulate) c_.randomise(seed_ + 5);
    has_gelu_ = wants.gelu || wants.gelu_backward;
    // Each side rounds the product; where the gradient of GELU follows, each side rounds it again.
    // A GPU also rounds a bias, which is up to 1, and some algorithms of cuBLASLt round the product
    // before the bias is added to it: for a sum of 1, the product is up to 2.
    roundings_ = wants.gelu_backward ? 4.0 : wants.bias ? 5.0 : 3.0;
    gpu_.gemm->multiply(ta_, a_.device(), tb_, b_.device(), c_.device(),
                        options(wants, &Twin::device));
    host_gemm().multiply(ta_, a_.host(), tb_, b_.host(), c_.host(), options(wants, &Twin::host));
  }

  /// Sums of k terms up to 1 in another order; then both sides round.
  void check() const {
    CAPTURE(seed_);
    const double terms = static_cast<double>(k_);
    const double tolerance = 2e-7 * (terms + 4.0) + roundings_ * rounding(c_.host().type);
    REQUIRE(largest_error(c_.device_values(), c_.host_values()) < tolerance);
    REQUIRE((c_.surroundings_are_untouched() && gelu_.surroundings_are_untouched()));
    if (has_gelu_)
      REQUIRE(largest_error(gelu_.device_values(), gelu_.host_values()) < 1.5 * tolerance);
    REQUIRE(largest_error(sums_.device_values(), sums_.host_values()) < 1e-6 * (terms + 1.0));
  }
  std::vector<std::byte> device_bytes() const { return c_.fetch().bytes(); }

 private:
  Twin operand(Transpose t, std::size_t rows, std::size_t columns, DType type,
               std::size_t padding) {
    return t == Transpose::yes ? Twin(gpu_, columns, rows, type, {padding, 0})
                               : Twin(gpu_, rows, columns, type, {padding, 0});
  }
  GemmOptions options(const Wants& wants, Matrix (Twin::*side)() const) const {
    GemmOptions options{.accumulate = wants.accumulate};
    if (wants.bias) options.bias = (bias_.*side)().f32();
    if (wants.gelu || wants.gelu_backward) options.gelu = (gelu_.*side)();
    if (wants.gelu_backward) options.gelu_input = (u_.*side)();
    if (wants.bias_gradient) options.bias_gradient = (sums_.*side)().f32();
    return options;
  }

  GpuProducts& gpu_;
  Transpose ta_, tb_;
  std::size_t k_;
  std::uint64_t seed_;
  Twin a_, b_, c_, bias_, gelu_, u_, sums_;
  bool has_gelu_ = false;
  double roundings_ = 3.0;
};

}  // namespace pptrain::test
