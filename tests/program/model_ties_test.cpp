#include "program/model_ties.hpp"

#include "support/catch.hpp"

namespace pptrain {
namespace {

Model small_gpt2(bool tied) {
  ModelConfig config;
  config.layers = 2;
  config.hidden_size = 64;
  config.heads = 4;
  config.vocabulary_size = 257;
  config.tied = tied;
  TrainingConfig training;
  training.sequence_length = 32;
  return build_model(config, training, "made");
}

TEST_CASE("a tied embedding is a tie of the first and the last layer, row by row", "[program]") {
  const std::vector<Tie> ties = ties_of(small_gpt2(true), 2.0);
  REQUIRE(ties.size() == 1);
  CHECK(ties[0].name == "wte.weight");
  CHECK(ties[0].layers == std::vector<std::int64_t>{0, 3});
  CHECK(ties[0].axis == "vocabulary");
  CHECK(ties[0].rows == 257);
  CHECK(ties[0].row_bytes == 64 * 2.0);
  CHECK(ties_of(small_gpt2(false), 2.0).empty());
}

TEST_CASE("a shared parameter that nobody divides is a tie without an axis", "[program]") {
  Model model = small_gpt2(false);
  ParameterSpec table;
  table.name = "distances";
  table.shape = {32, 4};
  for (const std::size_t layer : {1, 2}) model.layers[layer].parameters.push_back(table);
  const std::vector<Tie> ties = ties_of(model, 4.0);
  REQUIRE(ties.size() == 1);
  CHECK(ties[0].layers == std::vector<std::int64_t>{1, 2});
  CHECK(ties[0].axis.empty());
  CHECK(ties[0].gradient_bytes() == 32 * 4 * 4.0);
}

}  // namespace
}  // namespace pptrain
