#include "kernels/gemm.hpp"

#include <cmath>
#include <cstdlib>
#include <string>
#include <vector>

#include "kernels/host/blocked_gemm.hpp"
#include "kernels/host/onednn_matmul.hpp"
#include "kernels/kernels.hpp"
#include "kernels/test_matrix.hpp"

using namespace pptrain;
using namespace pptrain::test;

namespace {

struct Shape {
  std::size_t m, n, k;
};
enum class Use { overwrite, accumulate, bias };

/// Operands and result of one product, C with what was there before.
struct Product {
  Transpose ta, tb;
  TestMatrix a, b, c, bias;
  GemmOptions options;

  Product(Shape s, Transpose transpose_a, Transpose transpose_b, DType a_type, DType b_type,
          DType c_type, Use use)
      : ta(transpose_a),
        tb(transpose_b),
        a(ta == Transpose::yes ? s.k : s.m, ta == Transpose::yes ? s.m : s.k, a_type, 3),
        b(tb == Transpose::yes ? s.n : s.k, tb == Transpose::yes ? s.k : s.n, b_type, 5),
        c(s.m, s.n, c_type, 7),
        bias(1, s.n) {
    a.randomise(1);
    b.randomise(2);
    bias.randomise(3);
    if (use == Use::accumulate) c.randomise(4);
    options.accumulate = use == Use::accumulate;
    options.bias = use == Use::bias ? bias.f32() : nullptr;
  }

  Values expected() const {
    Values result;
    const std::size_t k = ta == Transpose::yes ? a.matrix().rows : a.matrix().columns;
    for (std::size_t i = 0; i < c.matrix().rows; ++i) {
      for (std::size_t j = 0; j < c.matrix().columns; ++j) {
        double sum = options.accumulate ? c.get(i, j) : 0.0;
        if (options.bias != nullptr) sum += bias.get(0, j);
        for (std::size_t l = 0; l < k; ++l) {
          sum += (ta == Transpose::yes ? a.get(l, i) : a.get(i, l)) *
                 (tb == Transpose::yes ? b.get(j, l) : b.get(l, j));
        }
        result.push_back(sum);
      }
    }
    return result;
  }

  void run(Gemm& gemm) { gemm.multiply(ta, a, tb, b, c, options); }

  void check(const Values& reference, std::size_t k) const {
    // Far below the bound of k roundings of a sum of k terms up to 1.
    const double tolerance = 1e-7 * (static_cast<double>(k) + 2.0) + rounding(c.matrix().type);
    REQUIRE(largest_error(c.values(), reference) < tolerance);
    REQUIRE(c.padding_is_untouched());
  }
};

template <class F>
void for_each_transposition(const F& f) {
  for (const Transpose ta : {Transpose::no, Transpose::yes}) {
    for (const Transpose tb : {Transpose::no, Transpose::yes}) {
      for (const Use use : {Use::overwrite, Use::accumulate, Use::bias}) {
        CAPTURE(ta == Transpose::yes, tb == Transpose::yes, static_cast<int>(use));
        f(ta, tb, use);
      }
    }
  }
}

void check_product(Gemm& gemm, Shape s, Transpose ta, Transpose tb, DType a, DType b, DType c,
                   Use use) {
  CAPTURE(s.m, s.n, s.k, type_name(a), type_name(b), type_name(c));
  Product product(s, ta, tb, a, b, c, use), again(s, ta, tb, a, b, c, use);
  const Values reference = product.expected();
  product.run(gemm);
  product.check(reference, s.k);
  again.run(gemm);
  REQUIRE(again.c.bytes() == product.c.bytes());
}

/// The products by conversion and sgemm, also where the processor would multiply bf16 itself.
class Blocked : public Gemm {
 public:
  void multiply(Transpose ta, const Matrix& a, Transpose tb, const Matrix& b, const Matrix& c,
                const GemmOptions& options) override {
    blocked_.multiply(ta, a, tb, b, c, options);
  }
  std::string name() const override { return "blocked"; }

 private:
  kernels::BlockedGemm blocked_;
};

}  // namespace

TEST_CASE("f32 products against double for every transposition, size and use", "[kernels]") {
  for (const Shape s :
       {Shape{1, 1, 1}, {3, 5, 7}, {64, 33, 17}, {130, 70, 257}, {1, 300, 64}, {190, 170, 210}}) {
    for_each_transposition([&](Transpose ta, Transpose tb, Use use) {
      check_product(host_gemm(), s, ta, tb, DType::f32, DType::f32, DType::f32, use);
    });
  }
}

TEST_CASE("products of every combination of element types", "[kernels]") {
  for (const DType a : all_types) {
    for (const DType b : all_types) {
      for (const DType c : all_types) {
        for_each_transposition([&](Transpose ta, Transpose tb, Use use) {
          check_product(host_gemm(), {33, 65, 70}, ta, tb, a, b, c, use);
        });
      }
    }
  }
}

TEST_CASE("bf16 products larger than a converted block", "[kernels]") {
  Blocked blocked;
  for (const Shape s : {Shape{1030, 3, 5}, {3, 1025, 9}, {4, 7, 2050}}) {
    for (const DType c : all_types) {
      for_each_transposition([&](Transpose ta, Transpose tb, Use use) {
        check_product(blocked, s, ta, tb, DType::bf16, DType::bf16, c, use);
      });
    }
  }
}

TEST_CASE("oneDNN's matmul primitives against double", "[kernels]") {
  const auto matmul = kernels::make_onednn_matmul();
  if (matmul == nullptr) {
    REQUIRE_FALSE(kernels::onednn_has_bf16());
    return;
  }
  for (const DType type : {DType::f32, DType::bf16}) {
    for (const DType c : {DType::f32, type}) {
      if (type == DType::bf16 && !kernels::onednn_has_bf16()) continue;
      for (const Shape s : {Shape{1, 1, 1}, {3, 5, 7}, {64, 33, 17}, {130, 70, 257}}) {
        for_each_transposition([&](Transpose ta, Transpose tb, Use use) {
          check_product(*matmul, s, ta, tb, type, type, c, use);
        });
      }
    }
  }
}

TEST_CASE("products with no terms and with no elements", "[kernels]") {
  TestMatrix a(3, 0), b(0, 4), c(3, 4), bias(1, 4);
  host_gemm().multiply(Transpose::no, a, Transpose::no, b, c);
  REQUIRE(c.values() == Values(12, 0.0));
  bias.randomise(1);
  host_gemm().multiply(Transpose::no, a, Transpose::no, b, c, {false, bias.f32()});
  REQUIRE(c.get(2, 3) == bias.get(0, 3));
  const Values before = c.values();
  host_gemm().multiply(Transpose::no, a, Transpose::no, b, c, {true, nullptr});
  REQUIRE(c.values() == before);
  host_gemm().multiply(Transpose::no, TestMatrix(0, 5), Transpose::no, TestMatrix(5, 4),
                       TestMatrix(0, 4));
}

TEST_CASE("what is asked for with a product equals kernels behind it, bit for bit", "[kernels]") {
  for (const DType type : all_types) {
    for (const DType c : {DType::f32, type}) {
      CAPTURE(type_name(type), type_name(c));
      const Shape s{33, 41, 27};
      Product plain(s, Transpose::yes, Transpose::no, type, type, c, Use::bias);
      Product fused(s, Transpose::yes, Transpose::no, type, type, c, Use::bias);
      TestMatrix gelu(s.m, s.n, c, 1), fused_gelu(s.m, s.n, c, 1), sums(1, s.m), fused_sums(1, s.m);
      sums.randomise(9);
      fused_sums.randomise(9);
      plain.run(host_gemm());
      host_kernels().activation_forward(Activation::gelu_tanh, plain.c, gelu);
      host_kernels().add_column_sums(plain.a, sums.f32());
      fused.options.gelu = fused_gelu;
      fused.options.bias_gradient = fused_sums.f32();
      fused.run(host_gemm());
      REQUIRE(fused.c.bytes() == plain.c.bytes());
      REQUIRE(fused_gelu.bytes() == gelu.bytes());
      REQUIRE(fused_sums.bytes() == sums.bytes());

      Product back(s, Transpose::no, Transpose::no, type, type, c, Use::overwrite);
      Product fused_back(s, Transpose::no, Transpose::no, type, type, c, Use::overwrite);
      back.run(host_gemm());
      host_kernels().activation_backward(Activation::gelu_tanh, plain.c, back.c, back.c, gelu);
      fused_back.options.gelu_input = fused_back.options.gelu = fused.c;
      fused_back.run(host_gemm());
      REQUIRE(fused_back.c.bytes() == back.c.bytes());
      REQUIRE(fused.c.values() == gelu.values());
    }
  }
}

TEST_CASE("a NaN in an operand reaches every sum it belongs to", "[kernels]") {
  for (const DType type : all_types) {
    Product product({20, 21, 22}, Transpose::no, Transpose::yes, type, type, type, Use::overwrite);
    product.a.set(4, 9, NAN);
    product.run(host_gemm());
    for (std::size_t j = 0; j < 21; ++j) {
      REQUIRE(std::isnan(product.c.get(4, j)));
      REQUIRE(std::isfinite(product.c.get(5, j)));
    }
  }
}

TEST_CASE("the back end names its libraries", "[kernels]") {
  REQUIRE_FALSE(host_gemm().name().empty());
#ifdef __x86_64__
  // An OpenBLAS that is told to be as where it does not know the processor (the test
  // kernels.unknown_processor).
  const char* core = std::getenv("OPENBLAS_CORETYPE");
  const bool is_unknown =
      core != nullptr && std::string(core) == "Prescott" && __builtin_cpu_supports("avx2");
  if (is_unknown && kernels::make_onednn_matmul() != nullptr) {
    REQUIRE(host_gemm().name().find("OpenBLAS") == std::string::npos);
  }
#endif
}
