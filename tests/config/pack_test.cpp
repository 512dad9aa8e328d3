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

}  // namespace
}  // namespace pptrain
