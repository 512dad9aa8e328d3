// Products on a GPU against those of the host.
#include "cuda/products.hpp"

using namespace pptrain;
using namespace pptrain::test;

namespace {

template <class F>
void for_each_transposition(const F& f) {
  for (const Transpose ta : {Transpose::no, Transpose::yes}) {
    for (const Transpose tb : {Transpose::no, Transpose::yes}) {
      CAPTURE(ta == Transpose::yes, tb == Transpose::yes);
      f(ta, tb);
    }
  }
}

}  // namespace

TEST_CASE("products on a GPU for every transposition, type, size and use") {
  GpuProducts gpu;
  for (const Shape s : {Shape{1, 1, 1}, {3, 5, 7}, {64, 33, 17}, {40, 70, 130}}) {
    for (const DType a : {DType::f32, DType::bf16}) {
      for (const DType b : {DType::f32, DType::bf16}) {
        for (const DType c : {DType::f32, DType::bf16}) {
          for_each_transposition([&](Transpose ta, Transpose tb) {
            for (const Wants& wants : {Wants{}, Wants{.accumulate = true}, Wants{.bias = true}}) {
              CAPTURE(s.m, s.n, s.k, type_name(a), type_name(b), type_name(c), wants.accumulate,
                      wants.bias);
              Product product(gpu, s, ta, tb, {a, b, c});
              product.run(wants);
              product.check();
            }
          });
        }
      }
    }
  }
}

TEST_CASE("products on a GPU with a size that is no multiple of 8, as most vocabularies are") {
  GpuProducts gpu;
  for (const Shape s :
       {Shape{1027, 8, 16}, {8, 1027, 16}, {8, 16, 1027}, {1030, 1025, 5}, {1029, 3, 1028}}) {
    for (const DType type : {DType::bf16, DType::f16}) {
      for (const DType c : {DType::f32, type}) {
        for_each_transposition([&](Transpose ta, Transpose tb) {
          for (const Wants& wants : {Wants{}, Wants{.accumulate = true}, Wants{.bias = true}}) {
            CAPTURE(s.m, s.n, s.k, type_name(type), type_name(c), wants.accumulate, wants.bias);
            Product product(gpu, s, ta, tb, {type, type, c}, 5);
            product.run(wants);
            product.check();
          }
        });
      }
    }
  }
}

TEST_CASE("GELU and the gradient of a bias with a product on a GPU, fused or behind it") {
  GpuProducts gpu;
  const Shape s{33, 40, 27};
  // Rows of 40 elements may be fused, those of 41 and 43 not.
  for (const std::size_t padding : {0, 1, 3}) {
    for (const DType type : {DType::f32, DType::bf16, DType::f16}) {
      for (const DType c : {DType::f32, type}) {
        for_each_transposition([&](Transpose ta, Transpose tb) {
          const auto check = [&](const Wants& wants) {
            CAPTURE(padding, type_name(type), type_name(c), wants.accumulate, wants.bias,
                    wants.gelu, wants.gelu_backward, wants.bias_gradient);
            Product product(gpu, s, ta, tb, {type, type, c}, padding);
            product.run(wants);
            product.check();
          };
          const bool sums = ta == Transpose::yes;
          check({.gelu = true, .bias_gradient = sums});
          check({.bias = true, .gelu = true});
          check({.gelu_backward = true, .bias_gradient = sums});
          check({.bias_gradient = sums});
          check({.accumulate = true, .bias_gradient = sums});
          check({.bias = true, .bias_gradient = sums});
        });
      }
    }
  }
}

TEST_CASE("products on a GPU with no terms and with no elements") {
  GpuProducts gpu;
  for (const DType type : {DType::f32, DType::bf16}) {
    for (const Shape s : {Shape{3, 4, 0}, {0, 4, 5}, {3, 0, 5}}) {
      for (const bool accumulate : {false, true}) {
        CAPTURE(s.m, s.n, s.k, type_name(type), accumulate);
        Product product(gpu, s, Transpose::yes, Transpose::no, {type, type, type}, 1);
        product.run({.accumulate = accumulate, .bias = !accumulate, .bias_gradient = true});
        product.check();
      }
    }
  }
}

TEST_CASE("equal products on a GPU give equal bits") {
  GpuProducts gpu;
  Product product(gpu, {33, 65, 70}, Transpose::no, Transpose::yes,
                  {DType::bf16, DType::bf16, DType::f32});
  product.run({.bias = true});
  const std::vector<std::byte> first = product.device_bytes();
  product.run({.bias = true});
  REQUIRE(product.device_bytes() == first);
}

TEST_CASE("products on a GPU by TF32 lose the digits that TF32 does not have") {
  GpuProducts gpu;
  gpu.gemm = make_cuda_gemm(gpu.device, gpu.kernels, Fp32Products::tf32);
  REQUIRE(gpu.gemm->name().find("TF32") != std::string::npos);
  Twin a(gpu, 16, 16), b(gpu, 16, 16), c(gpu, 16, 16);
  a.randomise(1);
  b.randomise(2);
  gpu.gemm->multiply(Transpose::no, a.device(), Transpose::no, b.device(), c.device());
  host_gemm().multiply(Transpose::no, a.host(), Transpose::no, b.host(), c.host());
  // 16 products of two values up to 1, each rounded to 11 bits.
  REQUIRE(largest_error(c.device_values(), c.host_values()) < 16 * 2 * 4.9e-4);
}
