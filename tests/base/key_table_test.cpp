#include "base/key_table.hpp"

#include "support/catch.hpp"

namespace pptrain {
namespace {

TEST_CASE("a table names its keys in its own order", "[base]") {
  const KeyTable table = {"[[node]]",
                          "a node",
                          {{"name", "text", "", "what it is called"},
                           {"devices", "whole number", "1", "how many it has"},
                           {"cores", "whole number", "all", "how many are used"}}};
  CHECK(table.names() == std::vector<std::string>{"name", "devices", "cores"});
  CHECK(KeyTable().names().empty());
}

}  // namespace
}  // namespace pptrain
