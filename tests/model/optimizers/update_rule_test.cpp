#include "model/optimizers/update_rule.hpp"

#include "support/catch.hpp"

using namespace pptrain;

namespace {

ParameterSpec spec(std::vector<std::int64_t> shape) {
  ParameterSpec made;
  made.name = "w";
  made.shape = std::move(shape);
  return made;
}

std::vector<std::string> names(const UpdateRule& rule) {
  std::vector<std::string> found;
  for (const StateSpec& state : rule.states) found.push_back(state.name);
  return found;
}

OptimizerConfig optimizer(OptimizerKind kind) {
  OptimizerConfig made;
  made.kind = kind;
  return made;
}

}  // namespace

TEST_CASE("every optimizer that a configuration may name has a rule", "[update_rule]") {
  const ParameterSpec matrix = spec({6, 4});
  CHECK(names(update_rule(optimizer(OptimizerKind::adamw), matrix)) ==
        std::vector<std::string>{"m", "v"});
  CHECK(names(update_rule(optimizer(OptimizerKind::sgd), matrix)).empty());
  OptimizerConfig momentum = optimizer(OptimizerKind::sgd);
  momentum.momentum = 0.9;
  CHECK(names(update_rule(momentum, matrix)) == std::vector<std::string>{"momentum"});
  CHECK(names(update_rule(optimizer(OptimizerKind::lion), matrix)) ==
        std::vector<std::string>{"m"});
  CHECK(names(update_rule(optimizer(OptimizerKind::adafactor), matrix)) ==
        std::vector<std::string>{"row_variance", "column_variance"});
  CHECK(names(update_rule(optimizer(OptimizerKind::adafactor), spec({6}))) ==
        std::vector<std::string>{"variance"});
  CHECK(update_rule(optimizer(OptimizerKind::muon), matrix).method == OptimizerKind::adamw);
  ParameterSpec hidden = matrix;
  hidden.hidden = true;
  CHECK(names(update_rule(optimizer(OptimizerKind::muon), hidden)) ==
        std::vector<std::string>{"momentum"});
  CHECK(is_whole_update(update_rule(optimizer(OptimizerKind::muon), hidden)));
  // Five times 2 · 4 · 4 · 6 for the square, 2 · 4³ for its own, 2 · 4 · 4 · 6 for the step, over
  // 24 elements.
  CHECK(update_rule(optimizer(OptimizerKind::muon), hidden).flop - 10.0 ==
        Approx(5 * (192.0 + 128.0 + 192.0) / 24.0));
  hidden.shape = {24};
  CHECK(update_rule(optimizer(OptimizerKind::muon), hidden).method == OptimizerKind::adamw);
}

TEST_CASE("states of rows and columns are divided with the dimension that they are of",
          "[update_rule]") {
  ParameterSpec by_rows = spec({24, 5});  // three groups of four heads, a unit of two rows
  by_rows.axis = ShardAxis::heads;
  by_rows.groups = 3;
  by_rows.unit = 2;
  const ParameterSpec rows = state_spec(by_rows, StateExtent::rows);
  CHECK(rows.shape == std::vector<std::int64_t>{24});
  CHECK(rows.shard_elements({1, 2}, 4) == std::vector<Interval>{{2, 4}, {10, 12}, {18, 20}});
  const ParameterSpec columns = state_spec(by_rows, StateExtent::columns);
  CHECK(columns.shape == std::vector<std::int64_t>{5});
  CHECK(columns.shard_elements({1, 2}, 4) == std::vector<Interval>{{0, 5}});
  ParameterSpec by_columns = spec({5, 8});
  by_columns.axis = ShardAxis::heads;
  by_columns.dimension = 1;
  by_columns.unit = 2;
  CHECK(state_spec(by_columns, StateExtent::rows).axis == ShardAxis::none);
  CHECK(state_spec(by_columns, StateExtent::columns).shard_elements({3, 4}, 4) ==
        std::vector<Interval>{{6, 8}});
}

TEST_CASE("state takes the bytes of the layer with most per parameter", "[update_rule]") {
  Config config;
  const Model model = build_model(config.model, config.training, "test");
  CHECK(state_bytes_per_parameter(optimizer(OptimizerKind::adamw), model) == 8.0);
  CHECK(state_bytes_per_parameter(optimizer(OptimizerKind::lion), model) == 4.0);
  CHECK(state_bytes_per_parameter(optimizer(OptimizerKind::muon), model) == 8.0);  // of the
                                                                                   // embedding
  for (const Layer& layer : model.layers) {
    const bool is_end = layer.reads_samples() || layer.computes_loss();
    for (const ParameterSpec& parameter : layer.parameters) CHECK(parameter.hidden != is_end);
  }
}
