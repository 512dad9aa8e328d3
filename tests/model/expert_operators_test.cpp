#include "model/expert_operators.hpp"

#include "support/catch.hpp"

namespace pptrain {
namespace {

TEST_CASE("weights of experts are divided by experts, or each of them as a linear map's",
          "[model]") {
  op::ExpertLinear product = {{.experts = 8, .chosen = 2}};
  CHECK(product.division() == WeightDivision::columns);
  product.by_rows = true;
  CHECK(product.division() == WeightDivision::rows);
  product.form.divided = true;  // members have whole experts, whatever their products are
  CHECK(product.division() == WeightDivision::experts);
  product.by_rows = false;
  CHECK(product.division() == WeightDivision::experts);
}

}  // namespace
}  // namespace pptrain
