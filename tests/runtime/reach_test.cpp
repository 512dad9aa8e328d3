// What groups of devices communicate by.
#include "runtime/execute/groups.hpp"
#include "support/catch.hpp"

using namespace pptrain;

TEST_CASE("groups whose members share a device, or have none, use MPI, and say why", "[np1]") {
  const std::vector<RankReach> reach = {
      {"NCCL", "a 0"}, {"NCCL", "a 1"}, {"NCCL", "b 0"}, {"NCCL", "a 1"}, {"", ""}};
  CHECK(why_by_mpi(reach, {0, 1, 2}) == "");
  CHECK(why_by_mpi(reach, {0, 1, 3}) == "ranks 1 and 3 share a device, which NCCL refuses");
  CHECK(why_by_mpi(reach, {2, 4}) == "rank 4 has nothing else");
}
