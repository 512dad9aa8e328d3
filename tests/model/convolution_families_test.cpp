// What is particular to families of convolutional networks.
#include <algorithm>

#include "model/build/check.hpp"
#include "model/build/dropout.hpp"
#include "model/families/families.hpp"
#include "model/folds/layer_folds.hpp"
#include "model/optimizers/update_rule.hpp"
#include "support/catch.hpp"
#include "support/complaint.hpp"

namespace pptrain {
namespace {

Model build(const std::string& text, std::int64_t image_size = 32) {
  return build_family(ConfigJson::parse(text, "config.json"),
                      {.tokens = 1, .image_size = image_size});
}

Model resnet(const std::string& more = "", std::int64_t image_size = 32) {
  return build(
      R"({"model_type": "resnet", "embedding_size": 4, "hidden_sizes": [8, 16], "depths": [1, 2]
                  )" +
          more + "}",
      image_size);
}

Model vgg(const std::string& more, const std::string& steps = R"([4, "M", 8, 8, "M"])") {
  return build(R"({"model_type": "vgg", "num_labels": 10, "cfg": )" + steps + more + "}", 0);
}

const Layer& layer(const Model& model, const std::string& name) {
  const auto found = std::find_if(model.layers.begin(), model.layers.end(),
                                  [&](const Layer& one) { return one.name == name; });
  if (found == model.layers.end()) throw std::out_of_range(name);
  return *found;
}

bool has(const Layer& of, const std::string& name) {
  return std::any_of(of.parameters.begin(), of.parameters.end(),
                     [&](const ParameterSpec& spec) { return spec.name == name; });
}

TEST_CASE("feature maps of a residual network shrink and widen as its stages say", "[families]") {
  const Model model = resnet();
  CHECK(layer(model, "embedding").output == Boundary(Port{64, 4}));
  CHECK(layer(model, "block.0.0").output == Boundary(Port{64, 8}));
  CHECK(layer(model, "block.1.0").output == Boundary(Port{16, 16}));
  CHECK(layer(model, "block.1.1").output == Boundary(Port{1, 16}));
  CHECK(resnet(R"(, "downsample_in_first_stage": true)").layers[1].output->packed().rows == 16);
  // A projection stands where channels or pixels change; the stride is in the 3 x 3, or in the
  // first 1 x 1.
  CHECK(has(layer(model, "block.0.0"),
            "resnet.encoder.stages.0.layers.0.shortcut.convolution.weight"));
  CHECK(has(layer(model, "block.1.0"),
            "resnet.encoder.stages.1.layers.0.shortcut.convolution.weight"));
  CHECK(!has(layer(model, "block.1.1"),
             "resnet.encoder.stages.1.layers.1.shortcut.convolution.weight"));
  const auto strides = [](const Layer& block) {
    std::vector<std::int64_t> found;
    for (const Operator& op : block.operators.operators) {
      if (const auto* convolution = op.as<op::Convolution>())
        found.push_back(convolution->window.stride);
    }
    return found;
  };
  CHECK(strides(layer(model, "block.1.0")) == std::vector<std::int64_t>{2, 1, 2, 1});
  CHECK(strides(layer(resnet(R"(, "downsample_in_bottleneck": true)"), "block.1.0")) ==
        std::vector<std::int64_t>{2, 2, 1, 1});
  CHECK(strides(layer(resnet(R"(, "layer_type": "basic")"), "block.1.0")) ==
        std::vector<std::int64_t>{2, 2, 1});
}

TEST_CASE("running averages are stored, and neither counted nor trained", "[families]") {
  const Model model = resnet();
  const Layer& embedding = layer(model, "embedding");
  REQUIRE(embedding.buffers.size() == 3);
  CHECK(embedding.buffers[0].name == "resnet.embedder.embedder.normalization.running_mean");
  CHECK(embedding.buffers[2].shape.empty());
  CHECK(embedding.num_parameters() == 4 * 3 * 49 + 8);
  CHECK(stored_tensors(model).size() == logical_parameters(model).size() + 3 * 12);
  OptimizerConfig adamw;
  CHECK(quantities_of(adamw, embedding.buffers[0]).size() == 1);
  CHECK(quantities_of(adamw, embedding.parameters[0]).size() == 3);
  CHECK(embedding.batch_norms == 1.0);
  CHECK(sums_over_micro_batches(Config(), model));
  CHECK_FALSE(sums_over_micro_batches(Config(), vgg(R"(, "hidden": [4])")));
}

TEST_CASE("the published ResNet-50 and VGG-16 have their parameters and products", "[families]") {
  const Model fifty = build(R"({"model_type": "resnet", "num_channels": 3, "id2label": {)" +
                                [] {
                                  std::string labels;
                                  for (int i = 0; i < 1000; ++i)
                                    labels +=
                                        (i == 0 ? "\"" : ", \"") + std::to_string(i) + "\": \"\"";
                                  return labels;
                                }() +
                                "}}",
                            0);
  CHECK(fifty.num_parameters() == 25557032);
  CHECK(fifty.sample.features == 3 * 224 * 224);
  double flop = 0.0;
  for (const Layer& one : fifty.layers) flop += one.flop_forward;
  CHECK(flop == Approx(2.0 * 4.09e9).epsilon(0.01));  // multiplications and additions of
                                                      // torchvision's table
  const Model sixteen = build(R"({"model_type": "vgg", "num_labels": 1000, "hidden": [4096, 4096],
    "cfg": [64, 64, "M", 128, 128, "M", 256, 256, 256, "M", 512, 512, 512, "M", 512, 512, 512, "M"]})",
                              0);
  CHECK(sixteen.num_parameters() == 138357544);
  CHECK(has(layer(sixteen, "features.28"), "features.28.weight"));
  CHECK(has(layer(sixteen, "classifier.0"), "classifier.3.bias"));
}

TEST_CASE("layers of convolutions that differ in a window are timed apart", "[families]") {
  const Model model = vgg(R"(, "hidden": [4])", R"([4, "M", 4, 4, "M"])");
  const Model other =
      build(R"({"model_type": "vgg", "num_labels": 10, "cfg": [4, "M", 4, 4, "M"], "hidden": [4],
                                "image_size": 228})",
            0);
  CHECK(model.layers[1].signature != model.layers[2].signature);
  for (std::size_t l = 0; l + 1 < model.layers.size(); ++l)
    CHECK(model.layers[l].signature != other.layers[l].signature);
  CHECK(model.layers.back().signature == other.layers.back().signature);
}

TEST_CASE("what a convolutional network cannot follow is refused", "[families]") {
  CHECK_THAT(complaint_of([] { resnet(R"(, "layer_type": "preact")"); }),
             Catch::Contains("layer_type = \"preact\""));
  CHECK_THAT(complaint_of([] { resnet(R"(, "depths": [1])"); }), Catch::Contains("depths"));
  CHECK_THAT(complaint_of([] { resnet(R"(, "hidden_act": "swishy")"); }),
             Catch::Contains("hidden_act"));
  CHECK_THAT(complaint_of([] { resnet(R"(, "problem_type": "regression")"); }),
             Catch::Contains("problem_type"));
  CHECK_THAT(complaint_of([] { resnet(R"(, "image_size": 64)"); }),
             Catch::Contains("[model] image_size = 32"));
  CHECK_THAT(complaint_of([] { vgg(R"(, "hidden": [4])", R"(["M", 4])"); }),
             Catch::Contains("cfg"));
  CHECK_THAT(complaint_of([] { vgg(R"(, "hidden": [4])", R"([4, "A"])"); }),
             Catch::Contains("\"A\" is neither"));
  CHECK_THAT(complaint_of([] { vgg(R"(, "hidden": [])"); }), Catch::Contains("dense layers"));
  CHECK_THAT(complaint_of([] { vgg(R"(, "hidden": [4], "image_size": 2)"); }),
             Catch::Contains("a feature map of 1 x 1 pixels comes to it"));
}

TEST_CASE("a layer has as many batch norms with dropout as without", "[families]") {
  const Model plain = resnet();
  Model dropping = resnet();
  add_dropout(dropping, 0.1, 4.0, "job.toml");
  const Layer& block = layer(plain, "block.1.0");
  CHECK(block.batch_norms == 4.0);
  CHECK(block.batch_norm_channels == 4.0 + 4.0 + 16.0 + 16.0);
  CHECK(layer(dropping, "block.1.0").batch_norms == block.batch_norms);
  CHECK(layer(dropping, "block.1.0").batch_norm_channels == block.batch_norm_channels);
}

}  // namespace
}  // namespace pptrain
