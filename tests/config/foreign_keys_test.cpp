#include "config/foreign_keys.hpp"

#include <map>

#include "config/texts.hpp"
#include "config/toml_reader.hpp"
#include "support/catch.hpp"

namespace pptrain {
namespace {

/// A key or section of each of the tools, and others that say the same.
const std::map<std::string, std::string> called = {
    {"train_iters", "training.steps"},                                // Megatron-LM
    {"tensor_model_parallel_size", "parallelism.tensor"},             // Megatron-LM
    {"train_micro_batch_size_per_gpu", "training.micro_batch_size"},  // DeepSpeed
    {"gradient_clipping", "optimizer.gradient_clip"},                 // DeepSpeed
    {"dump_folder", "job.output"},                                    // torchtitan
    {"n_embd", "model.hidden_size"},                                  // nanoGPT
    {"eval_interval", "metrics.evaluation_interval"},                 // nanoGPT
    {"lr_scheduler_type", "lr_scheduler.name"},                       // TrainingArguments
    {"save_steps", "checkpoint.interval"},                            // TrainingArguments
    {"lr", "optimizer.learning_rate"},
    {"ep", "parallelism.expert"},
    {"cp", "parallelism.context"},
    {"pipeline_parallel_degree", "parallelism.pipeline"},  // torchtitan
    {"vocab_size", "model.vocabulary_size"},
    {"data_path", "data.train"},
    {"train", "training"},
    {"optim", "optimizer"},
    {"logging", "metrics"}};

TEST_CASE("keys and sections of other tools are called by what does the same here", "[config]") {
  for (const auto& [foreign, own] : called) {
    CAPTURE(foreign);
    CHECK(key_called(foreign) == own);
  }
  CHECK(key_called("tensor-model-parallel-size") == "parallelism.tensor");
  CHECK(key_called("seq-len") == key_called("seq_len"));
  CHECK(key_called("seq-len") == "training.sequence_length");
  for (const char* none : {"", "LR", "learning_rate", "colour", "training.steps"}) {
    CAPTURE(none);
    CHECK(key_called(none).empty());
  }
}

TEST_CASE("what a key of another tool is called is a key of a configuration", "[config]") {
  const TomlTable file = parse_toml(write_config(test::parse("")), "written");
  for (const auto& [foreign, own] : called) {
    CAPTURE(foreign, own);
    const std::size_t dot = own.find('.');
    const auto section = file.table(own.substr(0, dot));
    REQUIRE(section.has_value());
    if (dot != std::string::npos) CHECK(section->has(own.substr(dot + 1)));
  }
}

}  // namespace
}  // namespace pptrain
