#include "plan/patterns.hpp"

#include "support/catch.hpp"

namespace pptrain {
namespace {

TEST_CASE("patterns have the names of PLAN.json", "[plan]") {
  const std::vector<std::string> names = {"replicate", "megatron", "sp1", "sp2", "all-to-all"};
  CHECK(pattern_names().names() == names);
  CHECK(pattern_names().find("sp2") == TensorPattern::sp2);
  CHECK(pattern_names().name_of(TensorPattern::all_to_all) == "all-to-all");
  CHECK_FALSE(pattern_names().find("sp3"));
}

TEST_CASE("one member divides nothing, but may have samples of its own", "[plan]") {
  for (const TensorPattern pattern :
       {TensorPattern::megatron, TensorPattern::sp1, TensorPattern::sp2}) {
    CHECK(written_pattern(pattern, 1) == TensorPattern::replicate);
    CHECK(written_pattern(pattern, 2) == pattern);
  }
  CHECK(written_pattern(TensorPattern::all_to_all, 1) == TensorPattern::all_to_all);
}

}  // namespace
}  // namespace pptrain
