#include "config/published_models.hpp"

#include <set>

#include "support/catch.hpp"

namespace pptrain {
namespace {

TEST_CASE("a model of a published experiment is found by its name", "[config][published]") {
  std::set<std::string> names;
  for (const PublishedModel& model : published_models()) {
    CAPTURE(model.name);
    CHECK(published_model(model.name) == &model);
    CHECK(names.insert(model.name).second);
    CHECK_FALSE(model.source.empty());
    // Either a config.json or a chain says what it is.
    CHECK(model.description.empty() != model.chain.empty());
  }
  for (const char* none : {"", "gpt2", "mlp-classifier", "BERT-large", "bert-larg"})
    CHECK(published_model(none) == nullptr);
}

ModelConfig taken(const std::string& name) {
  ModelConfig model;
  model.name = name;
  take_published(*published_model(name), model);
  return model;
}

TEST_CASE("dimensions of a published model are those of its config.json or of its tables",
          "[config][published]") {
  const ModelConfig described = taken("bert-large");
  CHECK((described.published && described.is_described() && described.layer.empty()));
  CHECK(described.description.find("\"hidden_size\": 1024") != std::string::npos);
  const ModelConfig images = taken("vgg-19");
  CHECK((images.published && !images.is_described() && images.description.empty()));
  REQUIRE(images.layer.size() == 1 + 5 + 1 + 1);  // images, runs of convolutions, dense, classes
  CHECK(std::get<ConvolutionConfig>(images.layer[3].kind).channels == 256);
  CHECK(images.vocabulary_size == ModelConfig().vocabulary_size);
  const ModelConfig texts = taken("gpt-moe-70b");
  CHECK(texts.vocabulary_size == 32000);
  CHECK(std::get<BlockConfig>(texts.layer.at(1).kind).experts.number == 64);
}

TEST_CASE("a published model that reads text says how long samples are", "[config][published]") {
  const auto lengths = [](const std::string& name) {
    TrainingConfig training;
    training.sequence_length = 7;
    take_published(*published_model(name), training);
    return std::pair(training.sequence_length, training.source_length);
  };
  CHECK(lengths("bert-large") == std::pair(std::int64_t{128}, AutoInt()));
  CHECK(lengths("t5-large") == std::pair(std::int64_t{114}, AutoInt(512)));
  CHECK(lengths("resnet-50") == std::pair(std::int64_t{7}, AutoInt()));
}

}  // namespace
}  // namespace pptrain
