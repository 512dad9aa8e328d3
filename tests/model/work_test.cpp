#include "model/work.hpp"

#include "support/catch.hpp"

namespace pptrain {
namespace {

TEST_CASE("FLOP of a pass are those of its kernels, divided or not", "[model]") {
  Kernel product, sum;
  product.flop = 6e9;
  product.share = Share::divided;
  product.launches = 3;
  product.weight_bytes = 1e9;
  sum.flop = 5.0;
  CHECK(flop_of({product, sum, product}) == 12e9 + 5.0);
  CHECK(flop_of({}) == 0.0);
}

TEST_CASE("numbers of both formats of 16 bits have two bytes", "[model]") {
  CHECK(element_bytes(Precision::fp32) == 4.0);
  CHECK(element_bytes(Precision::bf16) == 2.0);
  CHECK(element_bytes(Precision::fp16) == 2.0);
}

}  // namespace
}  // namespace pptrain
