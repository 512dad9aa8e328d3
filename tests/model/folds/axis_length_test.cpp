#include "model/folds/axis_length.hpp"

#include <fmt/format.h>

#include "config/read.hpp"
#include "model/build/check.hpp"
#include "support/catch.hpp"

namespace pptrain {
namespace {

Model model_with(int vocabulary, bool tied) {
  const std::string job = fmt::format(
      "[model]\nvocabulary_size = {}\n[[model.layer]]\nkind = \"embedding\"\ncolumns = 32\n"
      "[[model.layer]]\nheads = 4\nfeed_forward = 64\n"
      "[[model.layer]]\nkind = \"output\"\ntied = {}\n[training]\nsequence_length = 16\n",
      vocabulary, tied);
  return build_model_of(parse_config(job, "job.toml", ""));
}

TEST_CASE("a model with another length of an axis is the one that was built with it", "[model]") {
  for (const bool tied : {true, false}) {
    const Model built = model_with(128, tied);
    const Model made = with_axis_length(model_with(100, tied), ShardAxis::vocabulary, 128, 4.0);
    CHECK(made.axis_size(ShardAxis::vocabulary) == 128);
    CHECK(made.num_parameters() == built.num_parameters());
    REQUIRE(made.num_layers() == built.num_layers());
    for (std::size_t l = 0; l < made.layers.size(); ++l) {
      INFO(made.layers[l].name);
      CHECK(made.layers[l].signature == built.layers[l].signature);
      CHECK(made.layers[l].work == built.layers[l].work);
      CHECK(made.layers[l].stored_bytes == built.layers[l].stored_bytes);
    }
  }
}

}  // namespace
}  // namespace pptrain
