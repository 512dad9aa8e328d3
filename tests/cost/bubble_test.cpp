#include "cost/bubble.hpp"

#include "support/catch.hpp"

namespace pptrain {
namespace {

TEST_CASE("the bubble is the share of all devices' time in which they do not compute", "[cost]") {
  CHECK(bubble_fraction(6.0, 2, 4.0) == 0.25);
  CHECK(bubble_fraction(8.0, 2, 4.0) == 0.0);
  CHECK(bubble_fraction(0.0, 2, 4.0) == 1.0);
  CHECK(bubble_fraction(9.0, 2, 4.0) == 0.0);  // more work than time is no negative bubble
  CHECK(bubble_fraction(0.0, 2, 0.0) == 0.0);
}

TEST_CASE("an iteration that is stretched computes as long as before", "[cost]") {
  // Devices compute 6 of 8 s, and as long of 16 s, of 7.5 s and of 6 s.
  CHECK(stretched_bubble(0.25, 8.0, 16.0) == 0.625);
  CHECK(stretched_bubble(0.25, 8.0, 7.5) == Approx(0.2));
  CHECK(stretched_bubble(0.25, 8.0, 6.0) == 0.0);
  CHECK(stretched_bubble(0.1, 7.0, 7.0) == 0.1);  // to the bit
}

}  // namespace
}  // namespace pptrain
