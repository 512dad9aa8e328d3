#include "config/published_models.hpp"

#include <algorithm>
#include <set>

#include "config/read.hpp"
#include "model/build/check.hpp"
#include "model/model.hpp"
#include "support/catch.hpp"
#include "support/complaint.hpp"

namespace pptrain {
namespace {

Config config_of(const std::string& keys) {
  return parse_config("[profile]\nanalytic = true\n" + keys, "c.toml", "");
}

Model model_called(const std::string& name, const std::string& precision = "fp32") {
  return build_model_of(config_of("[model]\nname = \"" + name + "\"\n[training]\nprecision = \"" +
                                  precision + "\"\n"));
}

double parameters(const std::string& name) {
  return static_cast<double>(model_called(name).num_parameters());
}

const Layer& layer(const Model& model, const std::string& name) {
  const auto found = std::find_if(model.layers.begin(), model.layers.end(),
                                  [&](const Layer& candidate) { return candidate.name == name; });
  REQUIRE(found != model.layers.end());
  return *found;
}

TEST_CASE("models of published experiments have the published numbers of parameters",
          "[published]") {
  CHECK(parameters("resnet-50") == 25557032.0);  // torchvision's resnet50; 25.6 million
  CHECK(parameters("vgg-19") == 143667240.0);    // torchvision's vgg19
  CHECK(parameters("t5-large") == 737668096.0);  // the release's; 770 million
  // 340 million; the release's encoder has 335141888 with its pooler of 1024 x 1024 + 1024, the
  // head for masked tokens another 1024 x 1024 + 1024 + 2 x 1024 + 30522.
  CHECK(parameters("bert-large") == 335141888.0 - 1049600.0 + 1082170.0);
  CHECK(parameters("gpt-1.5b") == Approx(1.5e9).epsilon(0.03));
  CHECK(parameters("gpt-6.2b") == Approx(6.2e9).epsilon(0.02));
  CHECK(parameters("gpt-14.6b") == Approx(14.6e9).epsilon(0.02));
  CHECK(parameters("gpt-39b") == Approx(39e9).epsilon(0.02));
  CHECK(parameters("gpt-moe-70b") == Approx(70e9).epsilon(0.02));
  CHECK(parameters("m6-10b") == Approx(10e9).epsilon(0.01));
  CHECK(parameters("wide-resnet-4b") == Approx(4e9).epsilon(0.05));
  CHECK(parameters("wide-resnet-13b") == Approx(13e9).epsilon(0.05));
}

TEST_CASE("ResNet-50 has Whale's bytes of features and classifier", "[published]") {
  constexpr double mib = 1024.0 * 1024.0;
  const Model model = model_called("resnet-50-100k");
  const auto classifier = static_cast<double>(model.layers.back().num_parameters());
  CHECK(4.0 * classifier / mib == Approx(782.0).epsilon(0.001));
  CHECK(4.0 * (static_cast<double>(model.num_parameters()) - classifier) / mib ==
        Approx(90.0).epsilon(0.01));
  CHECK(model.num_layers() == 18);
  CHECK(model.layers[16].output_bytes == 4.0 * 2048);  // averaged over the image before it crosses
  // 4.1 billion multiplications and additions forward, of which the classifier's are 2 x 2048 x
  // 1000.
  double flop = 0.0;
  for (const Layer& l : model_called("resnet-50").layers) flop += l.flop_forward;
  CHECK(flop == Approx(2.0 * 4.09e9).epsilon(0.01));
  CHECK(model.tensor_parallel_degrees() == std::vector<int>{1, 2, 4, 8, 16, 32});
}

TEST_CASE("the encoder's output goes along every boundary of the decoder", "[published]") {
  const Model model = model_called("t5-large");
  REQUIRE(model.num_layers() == 51);
  CHECK(model.layers[23].output_bytes == 4.0 * 512 * 1024);
  CHECK(model.layers[26].output_bytes == 4.0 * (512 + 114) * 1024);
  CHECK(model.layers[48].output_bytes == 4.0 * (512 + 114) * 1024);
}

TEST_CASE("a block's passes have the FLOP of its dimensions", "[published]") {
  const Layer block = layer(model_called("gpt-1.5b", "fp16"), "block.7");
  const double products = 24.0 * 1024 * 2304 * 2304;
  const double attention = 4.0 * 1024 * (1025.0 / 2.0) * 2304;  // causal: half of the scores
  CHECK(block.flop_forward == products + attention);
  CHECK(block.flop_backward_input == products + 2.0 * attention);
  CHECK(block.flop_backward_weight == products);
}

TEST_CASE("a token uses two experts of a mixture, and all of them are parameters", "[published]") {
  const Model model = model_called("gpt-moe-70b", "fp16");
  const Layer& mixture = layer(model, "block.1.experts");
  const Layer& dense = layer(model, "block.0");
  const std::int64_t expert = 2 * 2048 * 16384;
  CHECK(mixture.num_parameters() == 64 * expert + 64 * 2048 + 2 * 2048);
  CHECK(dense.num_parameters() < 2 * expert);
  const double gate = 2.0 * 1024 * 2048 * 64;
  CHECK(mixture.flop_forward == 2.0 * 2.0 * 1024 * static_cast<double>(expert) + gate);
  CHECK(model.axis_size(ShardAxis::experts) == 64);
}

TEST_CASE("every model of a published experiment is a sound chain, planned and trained alike",
          "[published]") {
  for (const PublishedModel& published : published_models()) {
    for (const std::string precision : {"fp32", "fp16"}) {
      const Model model = model_called(published.name, precision);
      CAPTURE(published.name);
      CHECK(model.name == published.name);
      CHECK_FALSE(published.source.empty());
      std::set<std::string> names;
      for (const Layer& l : model.layers) {
        CHECK(names.insert(l.name).second);
        CHECK((l.num_parameters() > 0 && l.stored_bytes >= 0.0));
        CHECK((l.output_bytes > 0.0 || &l == &model.layers.back()));
        for (const auto* pass :
             {&l.work.forward, &l.work.backward_input, &l.work.backward_weight}) {
          for (const Kernel& k : *pass) {
            CHECK((k.flop >= 0.0 && k.bytes >= 0.0 && k.shard_bytes >= 0.0 &&
                   k.weight_bytes >= 0.0 && k.launches > 0));
          }
        }
      }
    }
  }
}

TEST_CASE(
    "a configuration names a published model without dimensions, and reads back as it was written",
    "[published]") {
  CHECK(build_model_of(config_of("[model]\nname = \"gpt2\"\nlayers = 7\n")).num_layers() == 9);
  CHECK_THAT(complaint_of([] { config_of("[model]\nname = \"bert-large\"\nlayers = 7\n"); }),
             Catch::StartsWith("c.toml:5: model.layers stands beside model.name"));
  CHECK_THAT(complaint_of([] {
               config_of("[training]\nsequence_length = 64\n[model]\nname = \"t5-large\"\n");
             }),
             Catch::StartsWith("c.toml:4: training.sequence_length is not known"));
  CHECK_THAT(complaint_of([] { config_of("[model]\nname = \"bert-larg\"\n"); }),
             Catch::EndsWith("did you mean \"bert-large\"?"));
  CHECK_THAT(complaint_of([] {
               build_model_of(config_of(
                   "[model]\nname = \"bert-large\"\n[[model.annotate]]\nlayers = [0, 27]\n"));
             }),
             Catch::Contains("bert-large has 26"));
  for (const PublishedModel& published : published_models()) {
    const Config config = config_of("[model]\nname = \"" + published.name + "\"\n");
    const Config again = parse_config(write_config(config), "again.toml", "");
    CHECK(again.training.sequence_length == config.training.sequence_length);
    const Model one = build_model_of(config), other = build_model_of(again);
    REQUIRE(one.num_layers() == other.num_layers());
    for (int l = 0; l < one.num_layers(); ++l) {
      CHECK(one.layers[static_cast<std::size_t>(l)].signature ==
            other.layers[static_cast<std::size_t>(l)].signature);
    }
  }
}

TEST_CASE(
    "a published model with batch norms is planned in batches of any size, and trained in those "
    "that are set",
    "[published]") {
  const std::string resnet = "[model]\nname = \"resnet-50\"\n";
  CHECK_NOTHROW(build_model_of(config_of(resnet)));
  CHECK_THAT(
      complaint_of([&] { build_model_of(config_of(resnet + "[data]\ntrain = \"synthetic\"\n")); }),
      Catch::Contains("micro_batch_size = \"auto\" for a resnet-50"));
}

}  // namespace
}  // namespace pptrain
