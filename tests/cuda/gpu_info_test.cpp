#include "cuda/gpu_info.hpp"

#include <cctype>

#include "cuda/device.hpp"
#include "cuda/presence.hpp"
#include "support/catch.hpp"

using namespace pptrain;

TEST_CASE("a GPU says what it is", "[cuda]") {
  const CudaDevice device(0);
  const GpuInfo info = gpu_info(0);
  CHECK_FALSE(info.name.empty());
  REQUIRE(info.uuid.size() == 40);  // "GPU-" and 32 digits in five groups
  CHECK(info.uuid.substr(0, 4) == "GPU-");
  REQUIRE(info.bus_id.size() >= 12);
  for (const char c : info.bus_id) CHECK(std::isupper(static_cast<unsigned char>(c)) == 0);
  CHECK(info.free_bytes > 0.0);
  CHECK(info.free_bytes <= info.memory_bytes);
  CHECK(info.major >= 7);
  CHECK(info.multiprocessors > 0);
  CHECK(info.clock_hz > 1e8);
  CHECK(info.clock_hz < 1e10);
  CHECK(info.memory_bandwidth > 1e10);
  CHECK(info.memory_bandwidth < 1e14);
}

TEST_CASE("a GPU tells how it reaches the others that the process sees", "[cuda]") {
  const CudaDevice device(0);
  const std::vector<VisiblePeer> peers = visible_peers(0);
  CHECK(static_cast<int>(peers.size()) == num_gpus() - 1);
  for (const VisiblePeer& peer : peers) CHECK(peer.bus_id != gpu_info(0).bus_id);
}
