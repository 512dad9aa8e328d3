#include "config/config.hpp"

#include "support/catch.hpp"

namespace pptrain {
namespace {

TEST_CASE("a model that names its dimensions has layers around them, in words for messages",
          "[config]") {
  ModelConfig model;
  model.layers = 4;
  CHECK(model.num_layers() == 6);
  CHECK(model.layers_text() == "it has 6 (embedding, 4 blocks, output)");
  model.name = "mlp-classifier";
  CHECK(model.is_classifier());
  CHECK(model.num_layers() == 5);
  CHECK(model.layers_text() == "it has 5 (4 dense layers, classifier)");
}

TEST_CASE("a folder, a chain or a published model says the dimensions in place of the name",
          "[config]") {
  Config config;
  config.model.name = "mlp-classifier";
  CHECK((config.model.names_dimensions() && !config.model.is_described()));
  Config folder = config;
  folder.model.from = "opt";
  CHECK(folder.model.is_described());
  Config chain = config;
  chain.model.layer.resize(3);
  CHECK_FALSE(chain.model.is_described());
  Config published = config;
  published.model.published = true;
  CHECK(published.model.is_described());
  for (Config* other : {&folder, &chain, &published}) {
    CHECK_FALSE(other->model.names_dimensions());
    CHECK_FALSE(other->model.is_classifier());
    other->model.name = "any";
    CHECK(other->can_train_model());
  }
  published.model.layer.resize(3);  // a chain describes it
  CHECK_FALSE(published.model.is_described());
  CHECK(config.can_train_model());
  config.model.name = "any";
  CHECK_FALSE(config.can_train_model());
}

TEST_CASE("samples are counted in tokens of target and source, or one by one", "[config]") {
  Config config;
  config.training.sequence_length = 18;
  CHECK(config.rows_per_sample() == 18);
  config.training.source_length = 26;
  CHECK(config.rows_per_sample() == 18 + 26);
  config.model.name = "mlp-classifier";
  CHECK(config.rows_per_sample() == 1);
  config.training.global_batch_size = 8;
  CHECK(config.planned_batch_size() == 8);
  config.parallelism.context = 4;  // a share of a sample is what a plan calls a sample
  CHECK(config.planned_batch_size() == 32);
}

TEST_CASE("experts are balanced over the model where a balance is asked for and over it",
          "[config]") {
  TrainingConfig training;
  training.router_aux_loss_over = BalanceOver::model;
  CHECK_FALSE(training.balances_model());
  training.router_aux_loss = 0.01;
  CHECK(training.balances_model());
  training.router_aux_loss_over = BalanceOver::layer;
  CHECK_FALSE(training.balances_model());
}

}  // namespace
}  // namespace pptrain
