#include "model/folds/kept_values.hpp"

#include "config/read.hpp"
#include "model/build/check.hpp"
#include "support/catch.hpp"
#include "support/files.hpp"

namespace pptrain {
namespace {

Model bf16_model(const std::string& name) {
  Config config = read_config(source_file("inputs/" + name + ".toml"));
  config.training.precision = Precision::bf16;
  return build_model_of(config);
}

/// How many norms of a layer have a result whose gradient one product gives alone.
int narrow_gradients(const Layer& layer) {
  int narrow = 0;
  for (const Operator& op : layer.operators.operators) {
    if (op.as<op::Norm>() != nullptr && has_narrow_gradient(layer.operators, *op.output)) ++narrow;
  }
  return narrow;
}

TEST_CASE("one product alone gives the gradients of GPT-2's norms, but that before the logits",
          "[kept_values]") {
  const Model gpt2 = bf16_model("gpt2");
  CHECK(narrow_gradients(gpt2.layers.at(1)) == 2);
  CHECK(narrow_gradients(gpt2.layers.back()) == 0);
  // Queries, keys and values are products of their own, as are gate and input.
  CHECK(narrow_gradients(bf16_model("vit-small").layers.at(1)) == 1);
  CHECK(narrow_gradients(bf16_model("llama-small").layers.at(1)) == 0);
}

}  // namespace
}  // namespace pptrain
