#include "config/pack.hpp"

#include "config/texts.hpp"
#include "support/catch.hpp"

namespace pptrain {
namespace {

using test::everything;
using test::parse;

TEST_CASE("a configuration that was sent names the lines of the user's file", "[config]") {
  const Config config = parse(everything, {"training.steps=9"});
  const Config received = unpack_config(pack_config(config));
  CHECK(write_config(received) == write_config(config));
  CHECK(received.source == "c.toml");
  CHECK(received.places == config.places);
  CHECK(received.where("model.heads") == "c.toml:11");
  CHECK(received.where("training.steps") == "--set training.steps");
}

TEST_CASE("a configuration is sent with the text that describes its model", "[config]") {
  Config config = parse("[model]\nname = \"vgg-19\"\n");
  config.model.description = "{\n\"model_type\": \"opt\" }";
  config.source = "folder of jobs/c d.toml";
  const Config received = unpack_config(pack_config(config));
  CHECK(received.model.description == config.model.description);
  CHECK(received.source == config.source);
  CHECK(received.model.published);
  CHECK(received.model.layer.size() == config.model.layer.size());
  CHECK(received.where("model.heads") == config.source);  // of a key that was not written
}

}  // namespace
}  // namespace pptrain
