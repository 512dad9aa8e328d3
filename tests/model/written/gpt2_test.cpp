#include "base/error.hpp"
#include "model/model.hpp"
#include "support/catch.hpp"

using namespace pptrain;

namespace {

ModelConfig gpt2(std::int64_t layers, std::int64_t hidden, std::int64_t heads,
                 std::int64_t vocabulary, bool tied) {
  ModelConfig config;
  config.layers = layers;
  config.hidden_size = hidden;
  config.heads = heads;
  config.vocabulary_size = vocabulary;
  config.tied = tied;
  return config;
}

TrainingConfig tokens(std::int64_t length) {
  TrainingConfig config;
  config.sequence_length = length;
  return config;
}

}  // namespace

TEST_CASE("parameter counts are those of the published models") {
  CHECK(build_model(gpt2(4, 64, 4, 257, false), tokens(32), "").num_parameters() == 235008);
  CHECK(build_model(gpt2(12, 768, 12, 50257, true), tokens(1024), "").num_parameters() ==
        124439808);
  CHECK(build_model(gpt2(24, 1024, 16, 50257, true), tokens(1024), "").num_parameters() ==
        354823168);
}

TEST_CASE("the chain is embedding, blocks, output") {
  const Model model = build_model(gpt2(3, 8, 2, 11, true), tokens(4), "");
  REQUIRE(model.num_layers() == 5);
  CHECK(model.layers[0].reads_samples());
  CHECK(model.layers[4].computes_loss());
  CHECK(model.boundary_behind(0) == Port{4, 8});
  CHECK(model.layers[3].name == "block.2");
  CHECK(model.layers[4].parameters[2].name == "wte.weight");
}

TEST_CASE("c_attn is divided by heads within each of q, k and v") {
  const Model model = build_model(gpt2(1, 8, 4, 11, false), tokens(4), "");
  const ParameterSpec& weight = model.layers[1].parameters[2];
  REQUIRE(weight.name == "h.0.attn.c_attn.weight");
  // Heads [1, 3) are rows 2..6 of each of the three groups of 8 rows, 8 columns each.
  CHECK(weight.shard_elements({1, 3}, 4) == std::vector<Interval>{{16, 48}, {80, 112}, {144, 176}});
}

TEST_CASE("a row-parallel weight is divided within each row") {
  const Model model = build_model(gpt2(1, 2, 2, 11, false), tokens(4), "");
  const ParameterSpec& weight = model.layers[1].parameters[10];
  REQUIRE(weight.name == "h.0.mlp.c_proj.weight");
  CHECK(weight.shard_elements({2, 4}, 8) == std::vector<Interval>{{2, 4}, {10, 12}});
  CHECK(weight.shard_elements({0, 8}, 8) == std::vector<Interval>{{0, 16}});
}

TEST_CASE("shards of any division cover every element once") {
  const Model model = build_model(gpt2(1, 24, 6, 37, false), tokens(4), "");
  for (const Layer& layer : model.layers) {
    for (const ParameterSpec& spec : layer.parameters) {
      if (spec.axis == ShardAxis::none) continue;
      std::vector<int> count(static_cast<std::size_t>(spec.size()), 0);
      const std::int64_t axis = model.axis_size(spec.axis);
      for (const Interval part : {Interval{0, 1}, Interval{1, 4}, Interval{4, axis}}) {
        for (const Interval run : spec.shard_elements(part, axis)) {
          for (std::int64_t i = run.begin; i < run.end; ++i) ++count[i];
        }
      }
      INFO(spec.name);
      CHECK(count == std::vector<int>(count.size(), 1));
    }
  }
}

TEST_CASE("heads that do not divide the hidden size are refused with a number that does") {
  CHECK_THROWS_WITH(
      build_model(gpt2(2, 64, 5, 11, false), tokens(4), "a.toml"),
      Catch::Contains("heads = 5 with hidden_size = 64") && Catch::Contains("use heads = 4"));
}
