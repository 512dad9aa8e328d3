#include "base/one_of.hpp"

#include <variant>

#include "support/catch.hpp"

namespace pptrain {
namespace {

struct Named {
  int operator()(const one_of<int, char> auto&) const { return 1; }
  int operator()(const one_of<double> auto&) const { return 2; }
};

TEST_CASE("a visitor takes the types that it names, and no other", "[base]") {
  const auto visit = [](const std::variant<int, char, double>& value) {
    return std::visit(Named(), value);
  };
  CHECK(visit(3) == 1);
  CHECK(visit('c') == 1);
  CHECK(visit(3.0) == 2);
  STATIC_REQUIRE(std::invocable<Named, int>);
  STATIC_REQUIRE_FALSE(std::invocable<Named, float>);
}

}  // namespace
}  // namespace pptrain
