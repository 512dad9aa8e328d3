#include "profile/ring.hpp"

#include "support/catch.hpp"

namespace pptrain {
namespace {

TEST_CASE("without a switch a group reaches the links that lead to its members", "[profile]") {
  Communication communication;
  communication.link_neighbours["v100"] = 3;
  CHECK(reached_links(communication, "v100", 2.0) == Approx(1.0 / 3.0));
  CHECK(reached_links(communication, "v100", 3.0) == Approx(2.0 / 3.0));
  CHECK(reached_links(communication, "v100", 4.0) == 1.0);
  CHECK(reached_links(communication, "v100", 8.0) == 1.0);
  CHECK(reached_links(communication, "a100", 2.0) == 1.0);  // one that has a switch
}

TEST_CASE("slices go round at the rate of so many bytes, hop by hop, behind a start", "[profile]") {
  Communication communication;
  // Three quarters of 400 bytes pass each link, and none where a member is alone.
  CHECK(moving_seconds(communication, 4.0, 400.0, 100.0) == 3.0);
  CHECK(moving_seconds(communication, 1.0, 400.0, 100.0) == 0.0);
  communication.half_bytes = 400.0;  // of which half of the bandwidth is reached
  CHECK(moving_seconds(communication, 4.0, 400.0, 100.0) == 6.0);
  CHECK(moving_seconds(communication, 4.0, 1200.0, 100.0) == 12.0);
  communication.start_seconds = 0.25;
  CHECK(ring_gather_seconds(communication, 4.0, 400.0, 100.0, 0.5) == 6.0 + 3 * 0.5 + 0.25);
}

}  // namespace
}  // namespace pptrain
