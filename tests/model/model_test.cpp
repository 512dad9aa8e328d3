#include "model/model.hpp"

#include "support/catch.hpp"

namespace pptrain {
namespace {

ParameterSpec parameter(const std::string& name, const std::vector<std::int64_t>& shape) {
  ParameterSpec spec;
  spec.name = name;
  spec.shape = shape;
  return spec;
}

std::vector<std::string> names_of(const std::vector<ParameterSpec>& parameters) {
  std::vector<std::string> names;
  for (const ParameterSpec& spec : parameters) names.push_back(spec.name);
  return names;
}

using Names = std::vector<std::string>;
using Elements = std::vector<Interval>;

TEST_CASE("members whose query heads share a key head all hold its rows", "[model]") {
  // Two key heads of two rows for four query heads.
  ParameterSpec keys = parameter("k_proj.weight", {4, 6});
  keys.axis = ShardAxis::heads;
  keys.unit = 2;
  keys.sharing = 2;
  CHECK(keys.shard_elements({0, 1}, 4) == Elements{{0, 12}});
  CHECK(keys.shard_elements({1, 2}, 4) == Elements{{0, 12}});
  CHECK(keys.shard_elements({1, 3}, 4) == Elements{{0, 24}});
  CHECK(keys.shard_elements({2, 4}, 4) == Elements{{12, 24}});
  CHECK(parameter("norm.weight", {6}).shard_elements({1, 2}, 4) == Elements{{0, 6}});
}

TEST_CASE("rows are sent to whole experts, beside which members have all else whole", "[model]") {
  ParameterSpec gate = parameter("gate.weight", {4, 6});
  gate.axis = ShardAxis::columns;
  CHECK(gate.divided_by(WeightDivision::experts).axis == ShardAxis::columns);
  CHECK(gate.divided_by(WeightDivision::exchange).axis == ShardAxis::none);
  gate.expert = 2;
  for (const WeightDivision division : {WeightDivision::experts, WeightDivision::exchange}) {
    const ParameterSpec of_expert = gate.divided_by(division);
    CHECK(of_expert.axis == ShardAxis::experts);
    CHECK(of_expert.shard_elements({2, 3}, 4) == Elements{{0, 24}});
    CHECK(of_expert.shard_elements({0, 2}, 4).empty());
  }
}

/// Three layers of which the first and the last read one table.
Model tied_model() {
  Model model;
  model.layers.resize(3);
  model.layers[0].parameters = {parameter("wte", {5, 2})};
  model.layers[1].parameters = {parameter("a", {3})};
  model.layers[1].buffers = {parameter("mean", {3})};
  model.layers[2].parameters = {parameter("b", {2}), parameter("wte", {5, 2})};
  return model;
}

TEST_CASE("a parameter of several layers is one of the model's, and buffers are stored behind",
          "[model]") {
  const Model model = tied_model();
  CHECK(model.num_parameters() == 10 + 3 + 2);
  CHECK(model.layers[2].num_parameters() == 12);
  CHECK(names_of(logical_parameters(model)) == Names{"wte", "a", "b"});
  CHECK(names_of(stored_tensors(model)) == Names{"wte", "a", "b", "mean"});
  const std::vector<SharedParameter> shared = model.shared_parameters();
  REQUIRE(shared.size() == 1);
  CHECK(shared[0].spec == &model.layers[0].parameters[0]);
  CHECK(shared[0].layers == std::vector<std::int64_t>{0, 2});
}

TEST_CASE("the shortest axis but that of experts says how many members divide a model", "[model]") {
  Model model = tied_model();
  model.axes = {{ShardAxis::heads, 12}, {ShardAxis::vocabulary, 10}, {ShardAxis::experts, 2}};
  CHECK(model.divided_units() == 12);
  CHECK(model.most_members() == 10);
  CHECK(model.axis_size(ShardAxis::none) == 1);
  CHECK(model.axis_size(ShardAxis::classes) == 0);
  CHECK(axes_of(model) ==
        std::map<std::string, std::int64_t>{{"heads", 12}, {"vocabulary", 10}, {"experts", 2}});
  // A layer that may be divided by rows in place of columns needs no position of either.
  model.layers[1].other_divisions[WeightDivision::rows] = {};
  CHECK(model.most_members() == 12);
}

TEST_CASE("degrees that are tried are powers of two that divide the units, up to a limit",
          "[model]") {
  const auto degrees = [](const std::map<ShardAxis, std::int64_t>& axes) {
    Model model;
    model.axes = axes;
    return model.tensor_parallel_degrees();
  };
  using Degrees = std::vector<int>;
  CHECK(degrees({{ShardAxis::heads, 64}}) == Degrees{1, 2, 4, 8});
  CHECK(degrees({{ShardAxis::heads, 12}}) == Degrees{1, 2, 4});
  CHECK(degrees({{ShardAxis::heads, 16}, {ShardAxis::columns, 5}}) == Degrees{1, 2, 4});
  CHECK(degrees({{ShardAxis::columns, 96}}) == Degrees{1, 2, 4, 8, 16, 32});
  CHECK(degrees({{ShardAxis::classes, 1024}}) == Degrees{1, 2, 4, 8, 16, 32});
  CHECK(degrees({{ShardAxis::classes, 7}}) == Degrees{1});
}

TEST_CASE("ports of a sample lie one behind the other", "[model]") {
  const Boundary single = Port{18, 40};
  CHECK(single.packed() == Port{18, 40});
  const Boundary several({{26, 40, "source"}, {18, 40}});
  CHECK((several.packed().rows == 1 && several.packed().columns == (26 + 18) * 40));
  CHECK(several.bytes() == 4.0 * (26 + 18) * 40);
}

}  // namespace
}  // namespace pptrain
