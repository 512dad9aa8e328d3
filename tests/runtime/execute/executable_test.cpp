// Blocks that cannot be executed are refused with what to write instead.
#include "runtime/execute/executable.hpp"

#include "support/catch.hpp"
#include "support/complaint.hpp"

using namespace pptrain;

namespace {

Model gpt2() { return build_model(ModelConfig(), {}, "test"); }

std::string refused(const Plan& plan, const Model& model) {
  return complaint_of([&] { check_blocks_executable(plan, model, "p.json"); });
}

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("blocks that cannot be executed are refused", "[np1]") {
  Plan plan = uniform_plan({{0, 6}}, 2, 1, 8, 4, "1f1b");
  plan.stages[0].blocks = {{{5, 6}, 1, 2, TensorPattern::sp1, {{0, 4}}, {}}};
  CHECK_NOTHROW(check_blocks_executable(plan, gpt2(), "p.json"));
  plan.stages[0].blocks[0].pattern = TensorPattern::sp2;
  CHECK(contains(refused(plan, gpt2()), "blocks[0].pattern: \"sp2\" of layer 5 (output)"));
  plan.stages[0].blocks[0].layers = {2, 3};
  plan.stages[0].blocks[0].pattern = TensorPattern::sp1;
  CHECK(contains(refused(plan, gpt2()), "\"sp1\" of layer 2 (block.1)"));
  ModelConfig narrow;
  narrow.name = "mlp-classifier";
  narrow.hidden_size = 3;
  Plan wide = uniform_plan({{0, 5}}, 4, 1, 8, 4, "1f1b");
  wide.stages[0].blocks = {{{4, 5}, 1, 4, TensorPattern::sp2, {{0, 4}}, {}}};
  CHECK(contains(refused(wide, build_model(narrow, {}, "test")), "the model has 3 columns"));
}
