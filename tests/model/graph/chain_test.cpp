#include "model/graph/chain.hpp"

#include <set>

#include "config/read.hpp"
#include "model/build/check.hpp"
#include "support/catch.hpp"
#include "support/files.hpp"

namespace pptrain {
namespace {

BlockShape block(std::int64_t heads, std::int64_t key_heads, std::int64_t feed_forward) {
  BlockShape shape;
  shape.heads = heads;
  shape.key_heads = key_heads;
  shape.head_size = 4;
  shape.feed_forward = feed_forward;
  return shape;
}

Model chain_of(const std::vector<BlockShape>& blocks) {
  ChainShape shape;
  shape.name = "made";
  shape.vocabulary = 31;
  shape.hidden = 24;
  shape.tokens = 8;
  shape.blocks = blocks;
  return build_chain(shape);
}

std::int64_t heads_axis(const std::vector<BlockShape>& blocks) {
  return chain_of(blocks).axis_size(ShardAxis::heads);
}

TEST_CASE("blocks of different dimensions share axes that all can be divided along", "[chain]") {
  CHECK(heads_axis({block(6, 6, 24), block(6, 2, 24)}) == 6);
  CHECK(heads_axis({block(6, 6, 24), block(4, 4, 24)}) == 2);
  // 6 positions of 2 heads each would cut key heads of 3 query heads in the middle of a position.
  CHECK(heads_axis({block(12, 4, 24), block(6, 6, 24)}) == 2);
  CHECK(heads_axis({block(12, 12, 9), block(12, 12, 15)}) == 3);  // no more than columns
  CHECK(chain_of({block(6, 6, 24), block(6, 6, 36)}).axis_size(ShardAxis::columns) == 12);
}

/// Elements of each parameter that `members` hold, each by its even part; equal ones are held
/// together.
void check_covered(const Model& model, int members) {
  for (const Layer& layer : model.layers) {
    for (const ParameterSpec& spec : layer.parameters) {
      INFO(spec.name << " over " << members);
      std::set<std::int64_t> covered;
      const std::int64_t length = model.axis_size(spec.axis);
      for (const Interval part : even_division(length, members)) {
        for (const Interval run : spec.shard_elements(part, length)) {
          for (std::int64_t e = run.begin; e < run.end; ++e) covered.insert(e);
        }
      }
      CHECK(static_cast<std::int64_t>(covered.size()) == spec.size());
    }
  }
}

TEST_CASE("members hold every element of a chain's parameters", "[chain]") {
  const Model model =
      chain_of({block(12, 4, 24), block(8, 1, 40), block(4, 2, 56), block(4, 4, 8)});
  CHECK(model.axis_size(ShardAxis::heads) == 4);
  for (const int members : {1, 2, 3, 4}) check_covered(model, members);
}

TEST_CASE("a chain is the model that config.json describes in other words", "[chain]") {
  Config from;
  from.model.from = test_data("models/llama");
  const Model published = build_model_of(from);
  const Config written = parse_config(
      "[model]\nvocabulary_size = 257\n[[model.layer]]\nkind = \"embedding\"\ncolumns = 64\n"
      "[[model.layer]]\nrepeat = 4\nheads = 4\nkey_heads = 2\nfeed_forward = 176\nnorm = \"rms\"\n"
      "activation = \"silu\"\ngated = true\nrotary_theta = 1e4\n[[model.layer]]\nkind = "
      "\"output\"\nnorm = \"rms\"\n",
      "chain.toml", "");
  const Model own = build_model_of(written);
  REQUIRE(own.num_layers() == published.num_layers());
  for (int l = 0; l < own.num_layers(); ++l) {
    const auto i = static_cast<std::size_t>(l);
    CHECK(own.layers[i].name == published.layers[i].name);
    CHECK(own.layers[i].signature == published.layers[i].signature);
  }
}

TEST_CASE("positions, a tied output and plain feed-forward parts are in a chain as well",
          "[chain]") {
  const Model model = build_model_of(
      parse_config("[model]\nvocabulary_size = 11\n[training]\nsequence_length = "
                   "5\n[[model.layer]]\nkind = \"embedding\"\n"
                   "columns = 8\npositions = true\n[[model.layer]]\nheads = 2\nquery_bias = "
                   "true\noutput_bias = true\n"
                   "feed_forward_bias = true\n[[model.layer]]\nkind = \"output\"\ntied = true\n",
                   "chain.toml", ""));
  // Tables; four products of attention and two behind with biases; three norms.
  CHECK(model.num_parameters() ==
        11 * 8 + 5 * 8 + 4 * (8 * 8 + 8) + (8 * 32 + 32) + (32 * 8 + 8) + 3 * 2 * 8);
  const std::vector<SharedParameter> shared = model.shared_parameters();
  REQUIRE(shared.size() == 1);
  CHECK(shared[0].spec->name == "model.embed_tokens.weight");
  CHECK(shared[0].layers == std::vector<std::int64_t>{0, 2});
}

TEST_CASE("published models have their numbers of parameters", "[chain]") {
  const auto parameters = [](const std::string& name) {
    return build_model_of(read_config(source_file("inputs/" + name + ".toml"))).num_parameters();
  };
  // As Hugging Face's hub counts them in the published weights.
  CHECK(parameters("llama-3-8b") == 8'030'261'248);
  CHECK(parameters("qwen2.5-7b") == 7'615'616'512);
  CHECK(parameters("mistral-7b-v0.1") == 7'241'732'096);
  CHECK(parameters("pythia-1.4b") == 1'414'647'808);
  CHECK(parameters("mixtral-8x7b") == 46'702'792'704);
}

}  // namespace
}  // namespace pptrain
