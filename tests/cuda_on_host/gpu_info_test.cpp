// What CUDA says of GPUs, value by value.
#include "cuda/gpu_info.hpp"

#include "stand_in.hpp"
#include "support/catch.hpp"

using namespace pptrain;

TEST_CASE("rates and identities of GPUs are read in CUDA's units") {
  cuda_on_host::set_gpus({{.name = "fast",
                           .bus = 0x1b,
                           .clock_khz = 1980000,
                           .memory_clock_khz = 2619000,
                           .memory_bus_bits = 5120},
                          {.name = "old",
                           .bus = 0x3b,
                           .major = 7,
                           .minor = 5,
                           .multiprocessors = 40,
                           .clock_khz = 1590000}});
  const GpuInfo fast = gpu_info(0);
  CHECK(fast.name == "fast");
  CHECK(fast.bus_id == "0000:1b:00.0");
  CHECK(fast.uuid == "GPU-ab000000-0000-0000-0000-00000000001b");
  CHECK(fast.clock_hz == Approx(1.98e9));
  CHECK(fast.memory_bandwidth == Approx(3.352e12).epsilon(1e-3));  // H100's HBM3
  const GpuInfo old = gpu_info(1);
  CHECK(old.major == 7);
  CHECK(old.minor == 5);
  CHECK(old.multiprocessors == 40);
  CHECK(old.uuid != fast.uuid);
  const auto access = [](int allowed, int atomics) {
    cuda_on_host::set_peer_access(allowed, atomics);
    const std::vector<VisiblePeer> peers = visible_peers(0);
    REQUIRE(peers.size() == 1);
    CHECK(peers.front().bus_id == "0000:3b:00.0");
    return peers.front().access;
  };
  CHECK(access(1, 1) == PeerAccess::over_nvlink);
  CHECK(access(1, 0) == PeerAccess::over_pcie);
  CHECK(access(0, 0) == PeerAccess::none);
  cuda_on_host::set_peer_access(1, 0);
  cuda_on_host::set_num_devices(2);
}
