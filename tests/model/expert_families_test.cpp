// What is particular to families whose feed-forward parts have experts.
#include <algorithm>

#include "model/families/families.hpp"
#include "model/folds/kept_values.hpp"
#include "support/catch.hpp"
#include "support/complaint.hpp"

namespace pptrain {
namespace {

Model build(const std::string& type, const std::string& more) {
  const std::string text =
      R"({"hidden_size": 12, "num_hidden_layers": 4, "num_attention_heads": 3, "vocab_size": 30,
    "num_key_value_heads": 3, "intermediate_size": 20, "model_type": ")" +
      type + "\"" + more + "}";
  return build_family(ConfigJson::parse(text, "config.json"), {8, 4.0});
}

Model mixtral(const std::string& more = "") {
  return build("mixtral", R"(, "num_local_experts": 4)" + more);
}

Model qwen(const std::string& more = "") {
  return build("qwen2_moe",
               R"(, "num_experts": 6, "num_experts_per_tok": 2, "moe_intermediate_size": 8,
    "shared_expert_intermediate_size": 12)" +
                   more);
}

const Layer& layer(const Model& model, const std::string& name) {
  const auto found = std::find_if(model.layers.begin(), model.layers.end(),
                                  [&](const Layer& candidate) { return candidate.name == name; });
  REQUIRE(found != model.layers.end());
  return *found;
}

std::vector<std::string> names_of(const Layer& layer) {
  std::vector<std::string> names;
  for (const ParameterSpec& spec : layer.parameters) names.push_back(spec.name);
  return names;
}

bool has(const Layer& layer, const std::string& name) {
  const std::vector<std::string> names = names_of(layer);
  return std::find(names.begin(), names.end(), name) != names.end();
}

template <class Kind>
std::vector<Operator> operators_of(const Layer& layer) {
  std::vector<Operator> found;
  for (const Operator& op : layer.operators.operators) {
    if (op.as<Kind>() != nullptr) found.push_back(op);
  }
  return found;
}

TEST_CASE("experts have parameters of their own, with the names of files", "[families]") {
  const Model model = mixtral();
  const Layer& block = layer(model, "block.0.experts");
  for (const char* name : {"gate", "experts.0.w1", "experts.3.w2", "experts.3.w3"}) {
    CHECK(has(block, std::string("model.layers.0.block_sparse_moe.") + name + ".weight"));
  }
  CHECK(!has(block, "model.layers.0.block_sparse_moe.experts.4.w1.weight"));
  const Model other = qwen();
  for (const char* name :
       {"gate", "experts.5.down_proj", "shared_expert.up_proj", "shared_expert_gate"}) {
    CHECK(has(layer(other, "block.0.experts"),
              std::string("model.layers.0.mlp.") + name + ".weight"));
  }
  // Experts of 8 columns and a shared one of 12: a position of the axis has two of them, or three.
  CHECK(other.axis_size(ShardAxis::columns) == 4);
}

TEST_CASE("blocks with one feed-forward part are those that the configuration names",
          "[families]") {
  const Model model = qwen(R"(, "decoder_sparse_step": 2, "mlp_only_layers": [3])");
  std::vector<std::string> names;
  for (const Layer& l : model.layers) {
    names.push_back(l.name);
    CHECK((operators_of<op::Router>(l).size() == 1) == (l.name == "block.1.experts"));
    CHECK(l.has_division(WeightDivision::experts) == (l.name == "block.1.experts"));
  }
  CHECK(names == std::vector<std::string>{"embedding", "block.0", "block.1.attention",
                                          "block.1.experts", "block.2", "block.3", "output"});
  CHECK(has(layer(model, "block.2"), "model.layers.2.mlp.gate_proj.weight"));
  CHECK(layer(model, "block.0").signature == layer(model, "block.2").signature);
  CHECK(layer(model, "block.1.experts").signature != layer(model, "block.2").signature);
}

TEST_CASE("weights of experts are made to sum to 1 where a family says so", "[families]") {
  const auto is_normalised = [](const Model& model) {
    return operators_of<op::Router>(layer(model, "block.0.experts"))
        .front()
        .as<op::Router>()
        ->normalised;
  };
  CHECK(is_normalised(mixtral()));
  CHECK(!is_normalised(qwen()));
  CHECK(is_normalised(qwen(R"(, "norm_topk_prob": true)")));
  CHECK(qwen().layers[2].signature != qwen(R"(, "norm_topk_prob": true)").layers[2].signature);
}

TEST_CASE("layers with experts count the rows that go to them", "[families]") {
  const Model model = mixtral(R"(, "num_experts_per_tok": 3)");
  CHECK(layer(model, "block.0.attention").flop_forward ==
        Approx(4 * 2.0 * 8 * 12 * 12 + 2.0 * 2.0 * 12 * 36));
  const Layer& block = layer(model, "block.0.experts");
  CHECK(block.flop_forward == Approx(2.0 * 8 * 12 * 4 + 3 * (3 * 2.0 * 8 * 12 * 20)));
  double weight_bytes = 0.0;
  for (const Kernel& kernel : block.work.forward) weight_bytes += kernel.weight_bytes;
  CHECK(weight_bytes == Approx(4.0 * (4 * 12 + 4 * 3 * 12 * 20)));
  // Kept values of a position are both parts of three experts, their weights and numbers, the row
  // that is dispatched, the logits.
  const std::vector<bool> kept = kept_values(block.operators, Recompute::none);
  const auto keeps = [&](const Operator& op) { return kept[*op.output]; };
  const std::vector<Operator> products = operators_of<op::ExpertLinear>(block);
  REQUIRE(products.size() == 3);
  CHECK((keeps(products[0]) && keeps(products[1]) && !keeps(products[2])));
  CHECK(block.operators.values[*products[0].output].rows == 3 * 8);
  CHECK(keeps(operators_of<op::Router>(block).front()));
  const Operator dispatch = operators_of<op::Dispatch>(block).front();
  CHECK((!keeps(dispatch) && kept[dispatch.inputs.front()]));
}

TEST_CASE(
    "an expert's weights are whole on the member that has it, and nothing of them is elsewhere",
    "[families]") {
  const Model model = mixtral();
  CHECK(model.axis_size(ShardAxis::experts) == 4);
  int experts = 0;
  for (const ParameterSpec& whole : layer(model, "block.0.experts").parameters) {
    INFO(whole.name);
    const ParameterSpec spec = whole.divided_by(WeightDivision::experts);
    if (whole.expert < 0) {
      CHECK(spec.axis == whole.axis);
      continue;
    }
    ++experts;
    CHECK(whole.axis == ShardAxis::columns);
    CHECK(whole.name.find(".experts." + std::to_string(whole.expert) + ".") != std::string::npos);
    CHECK(spec.shard_elements({whole.expert, 4}, 4) == std::vector<Interval>{{0, whole.size()}});
    CHECK(spec.shard_elements({0, whole.expert}, 4).empty());
  }
  CHECK(experts == 4 * 3);
}

TEST_CASE("what a family with experts cannot follow is refused", "[families]") {
  CHECK_THAT(complaint_of([] { mixtral(R"(, "num_experts_per_tok": 5)"); }),
             Catch::Contains("num_experts_per_tok = 5 with num_local_experts = 4"));
  CHECK_THAT(complaint_of([] { mixtral(R"(, "num_experts_per_tok": 0)"); }),
             Catch::Contains("num_experts_per_tok"));
  CHECK_THAT(complaint_of([] { mixtral(R"(, "router_jitter_noise": 0.1)"); }),
             Catch::Contains("router_jitter_noise"));
  CHECK_THAT(complaint_of([] { build("mixtral", R"(, "num_local_experts": 65537)"); }),
             Catch::Contains("at most 65536"));
  CHECK_THAT(complaint_of([] { qwen(R"(, "use_sliding_window": true)"); }),
             Catch::Contains("layer_types"));
  CHECK_THAT(complaint_of([] { qwen(R"(, "num_local_experts": 6)"); }),
             Catch::Contains("num_local_experts"));
  CHECK(
      operators_of<op::SelfAttention>(
          qwen(
              R"(, "use_sliding_window": true, "sliding_window": 4, "layer_types": ["sliding_attention",
              "full_attention", "full_attention", "sliding_attention"])")
              .layers[7])
          .front()
          .as<op::SelfAttention>()
          ->window == 4);
}

}  // namespace
}  // namespace pptrain
