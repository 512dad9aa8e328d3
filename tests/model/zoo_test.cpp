#include "model/zoo.hpp"

#include <algorithm>
#include <set>

#include "config/read.hpp"
#include "model/transformer.hpp"
#include "support/catch.hpp"
#include "support/complaint.hpp"

namespace pptrain {
namespace {

double parameters(const std::string& name) { return zoo_model(name, Precision::fp32).num_parameters(); }

const LayerDescription& layer(const ModelDescription& model, const std::string& name) {
  const auto found = std::find_if(model.layers.begin(), model.layers.end(),
                                  [&](const LayerDescription& candidate) { return candidate.name == name; });
  REQUIRE(found != model.layers.end());
  return *found;
}

TEST_CASE("models of the zoo have the published numbers of parameters", "[zoo]") {
  CHECK(parameters("resnet-50") == 25557032.0);  // torchvision's resnet50; 25.6 million
  // 770 million; the release's 737668096 without 2 x 32 x 16 relative positions and the encoder's last normalisation.
  CHECK(parameters("t5-large") == 737668096.0 - 1024.0 - 1024.0);
  // 340 million; the release's encoder with pooler has 335141888, the masked and the next-sentence
  // heads another 1024 x 1024 + 1024 + 2 x 1024 + 30522 and 2 x 1024 + 2.
  CHECK(parameters("bert-large") == 335141888.0 + 1082170.0 + 2050.0);
  CHECK(parameters("amp-gpt2-24") == 354823168.0 + (52256.0 - 50257.0) * 1024.0);  // GPT-2 medium's, larger vocabulary
  CHECK(parameters("gpt-1.5b") == Approx(1.5e9).epsilon(0.03));
  CHECK(parameters("gpt-6.2b") == Approx(6.2e9).epsilon(0.02));
  CHECK(parameters("gpt-14.6b") == Approx(14.6e9).epsilon(0.02));
  CHECK(parameters("gpt-39b") == Approx(39e9).epsilon(0.02));
  CHECK(parameters("gpt-moe-70b") == Approx(70e9).epsilon(0.02));
  CHECK(parameters("m6-10b") == Approx(10e9).epsilon(0.01));
  CHECK(parameters("wide-resnet-4b") == Approx(4e9).epsilon(0.05));
  CHECK(parameters("wide-resnet-13b") == Approx(13e9).epsilon(0.05));
}

TEST_CASE("ResNet-50 has Whale's bytes of features and classifier", "[zoo]") {
  constexpr double mib = 1024.0 * 1024.0;
  const ModelDescription model = zoo_model("resnet-50-100k", Precision::fp32);
  const double classifier = model.layers.back().parameters;
  CHECK(4.0 * classifier / mib == Approx(782.0).epsilon(0.001));
  CHECK(4.0 * (model.num_parameters() - classifier) / mib == Approx(90.0).epsilon(0.01));
  CHECK(model.num_layers() == 18);
  CHECK(model.layers[16].output_bytes == 4.0 * 2048);  // averaged over the image before it crosses
  // 4.1 billion multiplications and additions forward, of which the classifier's are 2 x 2048 x 10^5.
  double flop = 0.0;
  for (const LayerDescription& l : zoo_model("resnet-50", Precision::fp32).layers) flop += flop_of(l.forward);
  CHECK(flop == Approx(2.0 * 4.09e9).epsilon(0.01));
  CHECK(model.tensor_parallel_degrees == std::vector<int>{1, 2, 4, 8, 16, 32});
}

TEST_CASE("AMP's lists have their transformer layers where the paper says", "[zoo]") {
  const ModelDescription gpt2 = zoo_model("amp-gpt2-24", Precision::fp16);
  REQUIRE(gpt2.num_layers() == 30);
  for (int i = 1; i <= 30; ++i) CHECK((gpt2.layers[i - 1].name.substr(0, 6) == "block.") == (i >= 3 && i <= 26));
  const ModelDescription transgan = zoo_model("amp-transgan", Precision::fp16);
  REQUIRE(transgan.num_layers() == 56);
  for (int i = 1; i <= 56; ++i) {
    const bool transformer = (i >= 4 && i <= 15) || (i >= 42 && i <= 53);
    CHECK((transgan.layers[i - 1].name.substr(0, 6) == "stage.") == transformer);
  }
  // Bottom width 9: 81 tokens of 1024 first, 288 x 288 of 16 last, in 16 bits.
  CHECK(transgan.layers[3].output_bytes == 2.0 * 81 * 1024);
  CHECK(transgan.layers[41].output_bytes == 2.0 * 288 * 288 * 16);
}

TEST_CASE("the encoder's output goes along every boundary of the decoder", "[zoo]") {
  const ModelDescription model = zoo_model("t5-large", Precision::fp32);
  CHECK(layer(model, "encoder.23").output_bytes == 4.0 * 512 * 1024);
  CHECK(layer(model, "decoder.embedding").output_bytes == 4.0 * (512 + 114) * 1024);
  CHECK(layer(model, "decoder.22").output_bytes == 4.0 * (512 + 114) * 1024);
}

TEST_CASE("a layer stores what Korthikanti et al. count", "[zoo]") {
  // s b h (34 + 5 a s / h) bytes for 16 bits and a feed-forward width of 4 h.
  const double s = 1024.0, h = 4096.0, a = 32.0;
  CHECK(layer(zoo_model("gpt-6.2b", Precision::bf16), "block.0").stored_bytes == s * h * (34.0 + 5.0 * a * s / h));
}

TEST_CASE("a block's passes have the FLOP of its dimensions", "[zoo]") {
  const LayerDescription block = layer(zoo_model("gpt-1.5b", Precision::fp16), "block.7");
  const double products = 24.0 * 1024 * 2304 * 2304;
  const double attention = 4.0 * 1024 * 1024 * 2304;
  CHECK(flop_of(block.forward) == products + attention);
  CHECK(flop_of(block.backward_input) == products + 2.0 * attention);
  CHECK(flop_of(block.backward_weight) == products);
}

TEST_CASE("a token uses two experts of a mixture, and all of them are parameters", "[zoo]") {
  const ModelDescription model = zoo_model("gpt-moe-70b", Precision::fp16);
  const LayerDescription mixture = layer(model, "block.0");
  const LayerDescription dense = layer(model, "block.1");
  const double expert = 2.0 * 2048 * 16384;
  CHECK(mixture.parameters > 64.0 * expert);
  CHECK(dense.parameters < 2.0 * expert);
  // Twice the dense feed-forward FLOP, the gate, and two products with the mask of 2 x 2048 columns.
  const double gate = 2.0 * 1024 * 2048 * 64;
  const double masks = 2.0 * 2.0 * 1024 * 4096 * 2048;
  CHECK(flop_of(mixture.forward) - flop_of(dense.forward) == Approx(2.0 * 1024 * expert + gate + masks));
  CHECK(mixture.tensor_parallel_allreduce_bytes == 2.0 * 2.0 * 1024 * 2048);
}

TEST_CASE("the description of a trainable model has its sizes and its FLOP", "[zoo]") {
  ModelConfig config;
  config.tied = true;
  TrainingConfig training;
  training.precision = Precision::bf16;
  const Model model = build_model(config, training, "");
  const ModelDescription description = describe(model, training.precision);
  REQUIRE(description.num_layers() == model.num_layers());
  CHECK(description.num_parameters() == static_cast<double>(model.num_parameters()));
  for (int l = 0; l < model.num_layers(); ++l) {
    INFO(model.layers[l].name);
    CHECK(description.layers[l].name == model.layers[l].name);
    CHECK(description.layers[l].stored_bytes == model.layers[l].stored_bytes);
    CHECK(flop_of(description.layers[l].forward) == model.layers[l].flop_forward);
    CHECK(flop_of(description.layers[l].backward_input) == model.layers[l].flop_backward_input);
    CHECK(flop_of(description.layers[l].backward_weight) == model.layers[l].flop_backward_weight);
  }
}

TEST_CASE("every model of the zoo is a sound chain", "[zoo]") {
  for (const std::string& name : zoo_names()) {
    for (const Precision precision : {Precision::fp32, Precision::fp16}) {
      const ModelDescription model = zoo_model(name, precision);
      CAPTURE(name);
      CHECK_FALSE(model.source.empty());
      std::set<std::string> names;
      for (const LayerDescription& l : model.layers) {
        CHECK(names.insert(l.name).second);
        CHECK((l.parameters >= 0.0 && l.output_bytes >= 0.0 && l.stored_bytes >= 0.0));
        CHECK((l.output_bytes > 0.0 || &l == &model.layers.back()));
        for (const auto* pass : {&l.forward, &l.backward_input, &l.backward_weight}) {
          for (const Kernel& k : *pass) {
            CHECK((k.flop >= 0.0 && k.bytes >= 0.0 && k.shard_bytes >= 0.0 && k.weight_bytes >= 0.0 && k.launches > 0));
          }
        }
      }
    }
  }
}

TEST_CASE("a configuration names a model of the zoo without dimensions", "[zoo]") {
  const auto described = [](const std::string& keys) {
    return describe_model(parse_config("[profile]\nanalytic = true\n" + keys, "c.toml", ""));
  };
  CHECK(described("[model]\nname = \"bert-large\"\n").num_layers() == 26);
  CHECK(described("[model]\nname = \"gpt2\"\nlayers = 7\n").num_layers() == 9);
  CHECK(complaint_of([&] { described("[model]\nname = \"bert-large\"\nlayers = 7\n"); }) ==
        "c.toml:5: model.layers is given for bert-large (a model of the zoo has its own dimensions); remove the key");
  CHECK(complaint_of([&] {
          described("[training]\nsequence_length = 64\n[model]\nname = \"t5-large\"\n");
        }).starts_with("c.toml:4: training.sequence_length is given for t5-large"));
  CHECK(complaint_of([&] { described("[model]\nname = \"bert-larg\"\n"); }).ends_with("did you mean \"bert-large\"?"));
  CHECK(complaint_of([&] {
          described("[model]\nname = \"bert-large\"\n[[model.annotate]]\nlayers = [0, 27]\n");
        }).find("bert-large has 26") != std::string::npos);
}

}  // namespace
}  // namespace pptrain
