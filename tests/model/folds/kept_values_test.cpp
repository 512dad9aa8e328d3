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

Value value_of(std::int64_t rows, std::int64_t columns, Element element = Element::fp32,
               const AxisDivision& divided = {}) {
  return {rows, columns, element, divided};
}

/// A norm, a product by columns, ReLU and a product by rows, added to the stream: 8 rows of 4
/// columns, 6 between the products. Values in the order in which they are made.
OperatorList feed_forward() {
  const AxisDivision columns = {ShardAxis::columns};
  OperatorList list;
  list.values = {value_of(8, 4),
                 value_of(8, 4, Element::compute),
                 value_of(8, 6, Element::compute, columns),
                 value_of(8, 6, Element::compute, columns),
                 value_of(8, 4),
                 value_of(8, 4)};
  list.operators = {{op::Norm{{NormKind::rms}, 4}, {0}, 1, {0}},
                    {op::Linear{WeightDivision::columns}, {1}, 2, {1}},
                    {op::Activate{Activation::relu}, {2}, 3, {}},
                    {op::Linear{WeightDivision::rows}, {3}, 4, {2}},
                    {op::Addition{}, {0, 4}, 5, {}}};
  list.input = 0;
  list.output = 5;
  return list;
}

TEST_CASE("a layer keeps what B reads, and of what W reads what B does not make again",
          "[kept_values]") {
  OperatorList list = feed_forward();
  // The norm and the activation make their results again, for the products behind them.
  using Kept = std::vector<bool>;
  CHECK(kept_values(list, Recompute::none) == Kept{true, false, true, false, false, false});
  // 4 bytes of the stream, 2 of products, and a number of the norm's statistics for each row.
  CHECK(kept_bytes(list, Recompute::none, 2.0) == 8 * 4 * 4.0 + 8 * 6 * 2.0 + 8 * 4.0);
  CHECK(kept_bytes(list, Recompute::none, 2.0, 2) == 8 * 4 * 4.0 + 8 * 3 * 2.0 + 8 * 4.0);
  std::get<op::Norm>(list.operators[0].kind).form.kind = NormKind::layer;  // mean and deviation
  CHECK(statistics_bytes(list.operators[0], list, Recompute::none, 2) == 2 * 8 * 4.0);
  list.operators.erase(list.operators.begin() + 2);
  list.operators[2].inputs = {2};  // without an activation W reads what B does not need
  CHECK(kept_values(list, Recompute::none) == Kept{true, false, true, false, false, false});
}

TEST_CASE("selective recomputation keeps neither attention's result nor its statistics",
          "[kept_values]") {
  const AxisDivision heads = {ShardAxis::heads, 1, 3};
  OperatorList list;
  for (int v = 0; v < 4; ++v) list.values.push_back({8, 12, Element::compute, heads});
  list.operators = {{op::SelfAttention{4, 4, 3}, {0, 1, 2}, 3, {}}};
  const Operator& attention = list.operators.front();
  using Kept = std::vector<bool>;
  CHECK(kept_values(list, Recompute::none) == Kept{true, true, true, true});
  CHECK(kept_values(list, Recompute::selective) == Kept{true, true, true, false});
  CHECK(needs_of(attention, list, Recompute::selective).made_again);
  CHECK(statistics_bytes(attention, list, Recompute::none, 1) == 4.0 * 8 * 4);
  CHECK(statistics_bytes(attention, list, Recompute::none, 2) == 4.0 * 8 * 2);
  CHECK(statistics_bytes(attention, list, Recompute::selective, 1) == 0.0);
}

TEST_CASE("members hold equal parts, but key heads as often as query heads share them",
          "[kept_values]") {
  CHECK(member_part(value_of(8, 12), 4) == 1.0);
  CHECK(member_part({8, 12, Element::compute, {ShardAxis::heads, 1, 3}}, 4) == 0.25);
  // Two key heads of 16 columns for eight query heads: four members have one each.
  const Value keys = {8, 32, Element::compute, {ShardAxis::heads, 1, 16, 4}};
  CHECK(member_part(keys, 2) == 0.5);
  CHECK(member_part(keys, 4) == 0.5);
}

TEST_CASE("columns that a member takes lie in the whole value, be that the samples",
          "[kept_values]") {
  OperatorList list;
  list.values = {value_of(1, 12), value_of(1, 12, Element::fp32, {ShardAxis::inputs}),
                 value_of(1, 12), value_of(1, 12)};
  list.operators = {{op::Features{}, {}, 0, {}},
                    {op::Take{}, {0}, 1, {}},
                    {op::Scaling{}, {2}, 2, {}},
                    {op::Enter{}, {2}, 3, {}}};
  CHECK(holder_of(list, 1) == 0);
  CHECK(holder_of(list, 3) == 2);
  CHECK(holder_of(list, 2) == 2);
  CHECK((are_samples(list, 0) && are_samples(list, 1)));
  CHECK_FALSE((are_samples(list, 2) || are_samples(list, 3)));
}

}  // namespace
}  // namespace pptrain
