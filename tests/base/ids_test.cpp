#include "base/ids.hpp"

#include <type_traits>
#include <unordered_set>

#include "support/catch.hpp"

namespace pptrain {
namespace {

TEST_CASE("an id is not taken for another kind of id or for a number", "[base]") {
  CHECK_FALSE(std::is_constructible_v<DeviceId, RankId>);
  CHECK_FALSE(std::is_assignable_v<DeviceId&, RankId>);
  CHECK_FALSE(std::is_convertible_v<int, StageId>);
  CHECK_FALSE(std::is_convertible_v<StageId, int>);
  CHECK(std::is_constructible_v<StageId, int>);
}

TEST_CASE("an id that nobody has set is no valid one, and the others are in order", "[base]") {
  CHECK_FALSE(LayerId().valid());
  CHECK(LayerId(0).valid());
  CHECK(LayerId(7).index() == 7U);
  CHECK((LayerId(2) < LayerId(10) && LayerId() < LayerId(0) && LayerId(3) == LayerId(3)));
  std::unordered_set<LayerId> seen = {LayerId(4), LayerId(5), LayerId(4)};
  CHECK(seen.size() == 2);
  CHECK((seen.count(LayerId(5)) == 1 && seen.count(LayerId(6)) == 0));
}

}  // namespace
}  // namespace pptrain
