// Published networks of images, written down as [[model.layer]].
#include "config/read.hpp"
#include "model/model.hpp"
#include "support/catch.hpp"
#include "support/files.hpp"

using namespace pptrain;

namespace {

Model written(const std::string& input) {
  const Config config = read_config(source_file("inputs/" + input));
  return build_model(config.model, config.training, input);
}

const ParameterSpec& parameter(const Model& model, const std::string& name) {
  for (const Layer& layer : model.layers) {
    for (const ParameterSpec& spec : layer.parameters) {
      if (spec.name == name) return spec;
    }
  }
  FAIL("no parameter " << name);
  throw std::logic_error(name);
}

}  // namespace

TEST_CASE("VGG-19 written down has the parameters that torchvision counts", "[own_images]") {
  CHECK(written("vgg-19.toml").num_parameters() == 143'667'240);
}

TEST_CASE(
    "a Wide-ResNet written down widens behind its convolutions of 3 x 3, to Alpa's 4 billion "
    "parameters",
    "[own_images]") {
  const Model model = written("wide-resnet-4b.toml");
  CHECK(static_cast<double>(model.num_parameters()) == Approx(4e9).epsilon(1e-3));
  CHECK(parameter(model, "layers.1.layer.1.convolution.weight").shape ==
        std::vector<std::int64_t>{1280, 640 * 9});
  CHECK(parameter(model, "layers.1.layer.2.convolution.weight").shape ==
        std::vector<std::int64_t>{2560, 1280});
}
