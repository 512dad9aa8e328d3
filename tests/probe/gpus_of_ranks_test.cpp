// What four ranks find whose devices stand in for GPUs: copies are late, everything else is the
// real thing.
#include "comm/mpi.hpp"
#include "probe/discover.hpp"
#include "probe/environment.hpp"
#include "probe/fake_gpus.hpp"
#include "support/catch.hpp"
#include "support/late_device.hpp"

using namespace pptrain;
using namespace pptrain::test;

namespace {

constexpr const char* all_nvlink =
    "0000:03:00.0 0000:04:00.0 nvlink; 0000:03:00.0 0000:05:00.0 nvlink; 0000:03:00.0 0000:06:00.0 "
    "nvlink;"
    "0000:04:00.0 0000:05:00.0 nvlink; 0000:04:00.0 0000:06:00.0 nvlink; 0000:05:00.0 0000:06:00.0 "
    "nvlink";

/// As this rank finds it with the GPU of this name on this bus.
Discovery found_with(const std::string& name, int bus, const std::string& nvml) {
  Waiter waiter(600.0, CoreUse::shared);
  LateDevice device;
  const ProbedGpu own = {fake_gpu(name, bus, 16), device};
  return discover_cluster(MPI_COMM_WORLD, waiter, &own, nvml);
}

}  // namespace

TEST_CASE("four ranks with a GPU each are found, with links as they are measured", "[np4]") {
  const Variable variable("PPTRAIN_TEST_NVML", all_nvlink);
  const Discovery found =
      found_with("NVIDIA T4", 3 + rank_in(MPI_COMM_WORLD), PPTRAIN_NVML_STAND_IN);
  REQUIRE(found.cluster.num_nodes() == 1);
  CHECK(found.cluster.num_devices() == 4);
  CHECK(found.cluster.kind_of(DeviceId(0)).name == "nvidia-t4");
  CHECK_FALSE(found.cluster.groups.front().shares_cores());
  CHECK(found.cluster.bandwidth(DeviceId(0), DeviceId(3)) > 1e7);
  CHECK(found.cluster.latency(DeviceId(0), DeviceId(3)) > 0.0);
  CHECK(found.cluster.groups.front().host_link.bandwidth > 1e7);
  for (int r = 0; r < 4; ++r) {
    CHECK(found.neighbours[r].size() == 3);
    for (const auto& [other, link] : found.neighbours[r]) CHECK(link == GpuLink::nvlink);
  }
}

TEST_CASE("without NVML attributes of visible GPUs tell the links, or nobody does", "[np4]") {
  const int rank = rank_in(MPI_COMM_WORLD);
  Waiter waiter(600.0, CoreUse::shared);
  LateDevice device;
  ProbedGpu own = {fake_gpu("NVIDIA T4", 3 + rank, 16), device};
  if (rank == 0) {  // it alone sees others
    own.report.peers = {{"0000:04:00.0", PeerAccess::over_nvlink},
                        {"0000:05:00.0", PeerAccess::over_pcie},
                        {"0000:06:00.0", PeerAccess::none}};
  }
  const std::vector<RankHost> ranks = find_rank_hosts(MPI_COMM_WORLD, waiter, &own);
  const GpuNeighbours neighbours =
      find_gpu_neighbours(MPI_COMM_WORLD, waiter, ranks, "libpptrain-there-is-none.so.1");
  CHECK(neighbours[0] == std::map<int, GpuLink>{
                             {1, GpuLink::nvlink}, {2, GpuLink::pcie}, {3, GpuLink::through_host}});
  CHECK(neighbours[1].size() == 3);
}

TEST_CASE("four ranks that share two GPUs, each of which sees its own as number 0", "[np4]") {
  const Discovery found =
      found_with("NVIDIA T4", 3 + rank_in(MPI_COMM_WORLD) / 2, "libpptrain-there-is-none.so.1");
  CHECK(found.cluster.num_devices() == 4);
  CHECK(found.cluster.groups.front().cores == 2);
  CHECK(found.cluster.device_kinds.front().memory == 7.25 * 1024.0 * 1048576.0);
  CHECK(found.rank_of_device == std::vector<RankId>{RankId(0), RankId(2), RankId(1), RankId(3)});
  CHECK(found.neighbours[0].at(1) == GpuLink::same_gpu);
  CHECK(found.ranks[2].shares_gpu(found.ranks[3]));
  CHECK_FALSE(found.ranks[1].shares_gpu(found.ranks[2]));
}

TEST_CASE("two kinds of GPUs on a host, and a rank without one", "[np4]") {
  const int rank = rank_in(MPI_COMM_WORLD);
  Waiter waiter(600.0, CoreUse::shared);
  LateDevice device;
  const ProbedGpu own = {fake_gpu(rank == 0 ? "NVIDIA A100" : "NVIDIA T4", 3 + rank, 16), device};
  const Discovery found = discover_cluster(MPI_COMM_WORLD, waiter, rank == 3 ? nullptr : &own);
  REQUIRE(found.cluster.num_nodes() == 3);
  REQUIRE(found.cluster.num_devices() == 4);
  CHECK(found.cluster.kind_of(DeviceId(0)).name == "nvidia-a100");
  CHECK(found.cluster.kind_of(DeviceId(1)).name == "nvidia-t4");
  CHECK(found.cluster.kind_of(DeviceId(3)).flops.at("fp32") > 1e8);
  CHECK(found.cluster.bandwidth(DeviceId(0), DeviceId(3)) > 1e6);
  CHECK(found.cluster.groups.back().host_link.bandwidth == 0.0);
}
