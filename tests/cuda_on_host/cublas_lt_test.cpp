// What products ask of cuBLASLt, as its stand-in sees it.
#include "cublasLt.h"
#include "cuda/products.hpp"

using namespace pptrain;
using namespace pptrain::test;

namespace {

void run_layer(GpuProducts& gpu) {
  const Shape s{16, 40, 24};
  const auto run = [&](Transpose ta, Transpose tb, DType c, const Wants& wants) {
    Product product(gpu, s, ta, tb, {DType::bf16, DType::bf16, c}, 0);
    product.run(wants);
    product.check();
  };
  run(Transpose::no, Transpose::yes, DType::bf16, {.bias = true, .gelu = true});
  run(Transpose::no, Transpose::no, DType::bf16, {.gelu_backward = true});
  run(Transpose::yes, Transpose::no, DType::f32, {.accumulate = true, .bias_gradient = true});
}

}  // namespace

TEST_CASE("products use cuBLASLt's epilogues where it has them, and kernels elsewhere") {
  const std::uint64_t before = cuda_on_host::num_epilogues();
  {
    GpuProducts gpu;
    run_layer(gpu);
  }
  REQUIRE(cuda_on_host::num_epilogues() == before + 3);
  cuda_on_host::set_has_epilogues(false);
  {
    GpuProducts gpu;
    run_layer(gpu);
  }
  cuda_on_host::set_has_epilogues(true);
  REQUIRE(cuda_on_host::num_epilogues() == before + 3);
}

TEST_CASE("the algorithm of a product is asked for once") {
  GpuProducts gpu;
  const std::uint64_t before = cuda_on_host::num_heuristics();
  for (int i = 0; i < 3; ++i) {
    Product product(gpu, {16, 40, 24}, Transpose::no, Transpose::yes,
                    {DType::f32, DType::f32, DType::f32}, 0);
    product.run({.bias = true});
    product.check();
  }
  REQUIRE(cuda_on_host::num_heuristics() == before + 1);
}

TEST_CASE(
    "a product of 16 bits runs in two parts along each size that is no multiple of 8, one of fp32 "
    "as a whole") {
  const auto parts = [](const Shape& s, Transpose ta, Transpose tb, DType type) {
    GpuProducts gpu;
    const std::uint64_t before = cuda_on_host::num_heuristics();
    Product product(gpu, s, ta, tb, {type, type, DType::f32}, 5);
    product.run({});
    product.check();
    return cuda_on_host::num_heuristics() - before;
  };
  // The products of a head with 1,027 tokens in its vocabulary: logits, gradients of its input and
  // of its weight.
  CHECK(parts({16, 1027, 24}, Transpose::no, Transpose::yes, DType::bf16) == 2);
  CHECK(parts({16, 24, 1027}, Transpose::no, Transpose::no, DType::bf16) == 2);
  CHECK(parts({1027, 24, 16}, Transpose::yes, Transpose::no, DType::bf16) == 2);
  CHECK(parts({16, 1024, 24}, Transpose::no, Transpose::yes, DType::bf16) == 1);
  CHECK(parts({16, 1027, 24}, Transpose::no, Transpose::yes, DType::f32) == 1);
}
