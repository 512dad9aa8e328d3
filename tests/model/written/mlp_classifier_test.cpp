#include "model/model.hpp"
#include "support/catch.hpp"
#include "support/complaint.hpp"

using namespace pptrain;

namespace {

ModelConfig classifier() {
  ModelConfig config;
  config.name = "mlp-classifier";
  config.layers = 2;
  config.input_size = 5;
  config.hidden_size = 8;
  config.classes = 100000;
  return config;
}

}  // namespace

TEST_CASE("a classifier is dense layers and one to classes") {
  const Model model = build_model(classifier(), {}, "");
  REQUIRE(model.num_layers() == 3);
  CHECK(model.layers[0].reads_samples());
  CHECK(model.layers[0].output == Port{1, 8});
  CHECK(model.layers[1].has_division(WeightDivision::rows));
  CHECK(model.layers[2].computes_loss());
  CHECK(model.layers[0].parameters[0].name == "features.0.weight");
  CHECK(model.layers[0].parameters[0].shape == std::vector<std::int64_t>{8, 5});
  CHECK(model.layers[2].parameters[1].name == "classifier.bias");
  CHECK(model.num_parameters() == 5 * 8 + 8 + 8 * 8 + 8 + 8 * 100000 + 100000);
  // Two FLOP per weight and sample in each pass; the first layer has no gradient of its input.
  CHECK(model.flop_per_sample() == 2.0 * (2 * 5 * 8 + 3 * 8 * 8 + 3 * 8 * 100000));
  CHECK(axes_of(model) ==
        std::map<std::string, std::int64_t>{{"classes", 100000}, {"columns", 8}, {"inputs", 5}});
}

TEST_CASE("weights of a classifier are divided by columns or by rows") {
  const Model model = build_model(classifier(), {}, "");
  const ParameterSpec& weight = model.layers[0].parameters[0];
  const ParameterSpec& bias = model.layers[0].parameters[1];
  const ParameterSpec columns = weight.divided_by(WeightDivision::columns);
  CHECK(columns.shard_elements({2, 4}, 8) == std::vector<Interval>{{10, 20}});
  CHECK(bias.divided_by(WeightDivision::columns).shard_elements({2, 4}, 8) ==
        std::vector<Interval>{{2, 4}});
  const ParameterSpec rows = weight.divided_by(WeightDivision::rows);
  CHECK(rows.axis == ShardAxis::inputs);
  const std::vector<Interval> elements = rows.shard_elements({1, 3}, 5);
  REQUIRE(elements.size() == 8);
  CHECK(elements[1] == Interval{6, 8});
  CHECK(bias.divided_by(WeightDivision::rows).axis == ShardAxis::none);
}

TEST_CASE("the work of a classifier in kernels is that of its layers") {
  const Model model = build_model(classifier(), {}, "");
  for (const Layer& layer : model.layers) {
    INFO(layer.name);
    CHECK(flop_of(layer.work.forward) == layer.flop_forward);
    CHECK(flop_of(layer.work.backward_input) == layer.flop_backward_input);
    CHECK(flop_of(layer.work.backward_weight) == layer.flop_backward_weight);
  }
  CHECK(model.tensor_parallel_degrees() == std::vector<int>{1, 2, 4, 8});
}

TEST_CASE("a classifier has no branches to drop") {
  TrainingConfig training;
  training.dropout = 0.1;
  const std::string said = complaint_of([&] { build_model(classifier(), training, "job.toml"); });
  CHECK(said.starts_with("job.toml: dropout with mlp-classifier"));
}
