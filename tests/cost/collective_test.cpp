#include "cost/collective.hpp"

#include "support/catch.hpp"

namespace pptrain {
namespace {

TEST_CASE("an all-gather is half an all-reduce", "[cost]") {
  CHECK(all_gather_seconds({1000.0, 0.5}, 4, 800.0) == Approx(0.6 + 1.5));  // 3/4 * 800 / 1000 + 3
                                                                            // * 0.5
  CHECK(all_gather_seconds({1000.0, 0.5}, 1, 800.0) == 0.0);
}

}  // namespace
}  // namespace pptrain
