#include <filesystem>

#include "config/read.hpp"
#include "support/catch.hpp"
#include "support/files.hpp"

namespace pptrain {
namespace {

TEST_CASE("the inputs that come with pptrain are valid", "[inputs]") {
  int num_inputs = 0;
  for (const auto& entry : std::filesystem::directory_iterator(source_file("inputs"))) {
    if (entry.path().extension() != ".toml") continue;
    CAPTURE(entry.path().string());
    REQUIRE_NOTHROW(read_config(entry.path().string()));
    ++num_inputs;
  }
  CHECK(num_inputs >= 4);
}

TEST_CASE("the models of the papers have their dimensions", "[inputs]") {
  const Config small = read_config(source_file("inputs/gpt2-124m.toml"));
  CHECK((small.model.layers == 12 && small.model.hidden_size == 768 && small.model.heads == 12));
  const Config medium = read_config(source_file("inputs/gpt2-345m.toml"));
  CHECK(
      (medium.model.layers == 24 && medium.model.hidden_size == 1024 && medium.model.heads == 16));
  for (const Config& config : {small, medium}) {
    CHECK((config.model.vocabulary_size == 50257 && config.model.tied &&
           config.training.sequence_length == 1024));
  }
}

}  // namespace
}  // namespace pptrain
