#include "base/name_table.hpp"

#include "support/catch.hpp"

using namespace pptrain;

namespace {

enum class Colour { red, green };

}  // namespace

TEST_CASE("values have names and names have values", "[names]") {
  const NameTable<Colour> table = {{Colour::green, "green"}, {Colour::red, "red"}};
  CHECK(table.names() == std::vector<std::string>{"green", "red"});
  CHECK((table.name_of(Colour::red) == "red" && table.name_of(Colour::green) == "green"));
  CHECK((table.find("red") == Colour::red && !table.find("blue")));
}

TEST_CASE("nothing may have a name too, the last one", "[names]") {
  const auto table =
      or_nothing(NameTable<Colour>{{Colour::red, "red"}, {Colour::green, "green"}}, "none");
  CHECK(table.names() == std::vector<std::string>{"red", "green", "none"});
  CHECK((table.name_of(std::nullopt) == "none" && table.name_of(Colour::green) == "green"));
  REQUIRE((table.find("none") && table.find("red")));
  CHECK((*table.find("none") == std::nullopt && *table.find("red") == Colour::red));
  CHECK(!table.find("blue"));
}
