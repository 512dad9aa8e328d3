#include "cuda/device.hpp"

#include <cstring>
#include <numeric>
#include <vector>

#include "base/error.hpp"
#include "cuda/check.hpp"
#include "cuda/kernels.hpp"
#include "cuda/presence.hpp"
#include "cuda/twin.hpp"
#include "support/catch.hpp"

using namespace pptrain;
using namespace pptrain::test;

namespace {

std::vector<float> counted(std::size_t n, float first) {
  std::vector<float> values(n);
  std::iota(values.begin(), values.end(), first);
  return values;
}

/// Memory of a device or its pinned host memory as floats.
float* floats(const Buffer& buffer) { return static_cast<float*>(buffer.data()); }

}  // namespace

TEST_CASE("values come back from a GPU as they went", "[cuda]") {
  CudaDevice device(0);
  Arena arena(0, "", device);
  for (const std::size_t n :
       {std::size_t{1}, std::size_t{1000}, std::size_t{3} << 20}) {  // 12
                                                                     // MiB:
                                                                     // several
                                                                     // pieces
    const std::vector<float> values = counted(n, 1.0f);
    std::vector<float> back(n);
    const Buffer block(arena, n * sizeof(float)), other(arena, n * sizeof(float));
    device.upload(block.data(), values.data(), block.bytes());
    device.copy(other.data(), block.data(), block.bytes());
    device.download(back.data(), other.data(), other.bytes());
    REQUIRE(back == values);
  }
}

TEST_CASE("what is uploaded may change at once, many times", "[cuda]") {
  CudaDevice device(0);
  Arena arena(0, "", device);
  constexpr std::size_t n = 1 << 20, times = 40;  // 160 MiB: more than may be on its way
  std::vector<Buffer> blocks;
  std::vector<float> values(n);
  for (std::size_t i = 0; i < times; ++i) {
    std::fill(values.begin(), values.end(), static_cast<float>(i));
    blocks.emplace_back(arena, n * sizeof(float));
    device.upload(blocks.back().data(), values.data(), blocks.back().bytes());
  }
  for (std::size_t i = 0; i < times; ++i) {
    device.download(values.data(), blocks[i].data(), blocks[i].bytes());
    REQUIRE(values.front() == static_cast<float>(i));
    REQUIRE(values.back() == static_cast<float>(i));
  }
}

TEST_CASE("a GPU works in the order of the calls", "[cuda]") {
  Gpu gpu;
  DeviceValues<float> x(gpu, counted(1000, 0.0f)), y(gpu, std::vector<float>(1000, 1.0f));
  gpu.kernels.add(x.data(), y.data(), 1000);                  // y = 1 + i
  gpu.device.copy(x.data(), y.data(), 1000 * sizeof(float));  // x = 1 + i
  gpu.device.fill(y.data(), 0, 500 * sizeof(float));          // the first half of y = 0
  gpu.kernels.scale(x.data(), 2.0f, 1000);                    // x = 2 + 2 i
  gpu.kernels.add(x.data(), y.data(), 1000);
  const std::vector<float> values = y.fetch();
  for (std::size_t i = 0; i < 1000; ++i) {
    REQUIRE(values[i] ==
            2.0f + 2.0f * static_cast<float>(i) + (i < 500 ? 0.0f : 1.0f + static_cast<float>(i)));
  }
}

TEST_CASE("a block that is given back may be used at once", "[cuda]") {
  Gpu gpu;
  gpu.arena.poison(false);
  DeviceValues<float> sum(gpu, std::vector<float>(1000, 0.0f));
  for (int i = 1; i <= 5; ++i) {
    // Every x lies in the same block.
    const DeviceValues<float> x(gpu, std::vector<float>(1000, static_cast<float>(i)));
    gpu.kernels.add(x.data(), sum.data(), 1000);
  }
  REQUIRE(sum.fetch() == std::vector<float>(1000, 15.0f));
}

TEST_CASE("a download goes on behind what was called before and beside what comes after",
          "[cuda]") {
  Gpu gpu;
  Arena pinned(0, "", gpu.device.host_memory());
  DeviceValues<float> x(gpu, counted(5000, 1.0f)), other(gpu, counted(5000, 0.0f));
  const Buffer to(pinned, 5000 * sizeof(float));
  std::memset(to.data(), 0, to.bytes());
  gpu.kernels.scale(x.data(), 3.0f, 5000);
  const DeviceWorkPtr download = gpu.device.start_download(to.data(), x.data(), to.bytes());
  gpu.kernels.scale(other.data(), 5.0f, 5000);
  int questions = 0;
  while (!download->has_ended()) ++questions;
  for (std::size_t i = 0; i < 5000; ++i) REQUIRE(floats(to)[i] == 3.0f * static_cast<float>(i + 1));
  REQUIRE(other.fetch()[4999] == 5.0f * 4999.0f);
}

TEST_CASE("a GPU tells when it got where", "[cuda]") {
  Gpu gpu;
  const DeviceMomentPtr start = gpu.device.moment();
  DeviceValues<float> x(gpu, counted(1 << 16, 1.0f));
  gpu.kernels.scale(x.data(), 3.0f, 1 << 16);
  const DeviceMomentPtr middle = gpu.device.moment();
  for (int i = 0; i < 20; ++i) gpu.kernels.scale(x.data(), 1.5f, 1 << 16);
  const DeviceMomentPtr end = gpu.device.moment();
  const double later = end->seconds_since(*middle);
  REQUIRE(later > 0.0);
  REQUIRE(later < 10.0);
  REQUIRE(start->has_ended());
  REQUIRE(end->has_ended());
  REQUIRE(end->seconds_since(*start) == Approx(middle->seconds_since(*start) + later).margin(2e-6));
  REQUIRE(middle->seconds_since(*end) == Approx(-later).margin(1e-9));
}

TEST_CASE("memory that is not pinned is copied too", "[cuda]") {
  Gpu gpu;
  const std::vector<float> values = counted(5000, 1.0f);
  std::vector<float> back(5000);
  const Buffer block(gpu.arena, 5000 * sizeof(float));
  const DeviceWorkPtr upload = gpu.device.start_upload(block.data(), values.data(), block.bytes());
  const DeviceWorkPtr download =
      gpu.device.start_download(back.data(), block.data(), block.bytes());
  REQUIRE(back == values);
  gpu.device.synchronize();
  REQUIRE(upload->has_ended());
  REQUIRE(download->has_ended());
}

TEST_CASE("an upload from pinned memory is in the order of the device", "[cuda]") {
  Gpu gpu;
  Arena pinned(0, "", gpu.device.host_memory());
  DeviceValues<float> x(gpu, counted(100, 0.0f)), y(gpu, counted(100, 0.0f));
  const Buffer from(pinned, 100 * sizeof(float));
  std::fill_n(floats(from), 100, 7.0f);
  gpu.kernels.add(x.data(), y.data(), 100);  // before x changes
  const DeviceWorkPtr upload = gpu.device.start_upload(x.data(), from.data(), from.bytes());
  gpu.kernels.add(x.data(), y.data(), 100);
  while (!upload->has_ended()) {
  }
  std::fill_n(floats(from), 100, -1.0f);
  const std::vector<float> values = y.fetch();
  for (std::size_t i = 0; i < 100; ++i) REQUIRE(values[i] == 2.0f * static_cast<float>(i) + 7.0f);
}

TEST_CASE("an empty copy is none", "[cuda]") {
  CudaDevice device(0);
  device.upload(nullptr, nullptr, 0);
  device.download(nullptr, nullptr, 0);
  device.copy(nullptr, nullptr, 0);
  device.fill(nullptr, 0, 0);
  const DeviceWorkPtr download = device.start_download(nullptr, nullptr, 0);
  device.synchronize();
  REQUIRE(download->has_ended());
}

TEST_CASE("a GPU has a name, memory that the host does not follow, and a cap", "[cuda]") {
  CudaDevice device(0);
  REQUIRE(device.name().rfind("GPU 0 (", 0) == 0);
  REQUIRE_FALSE(device.is_host());
  REQUIRE(device.host_memory().is_host());
  Arena arena(0, "", device);
  REQUIRE(reinterpret_cast<std::uintptr_t>(Buffer(arena, 100).data()) % 64 == 0);
  Arena capped(1 << 20, "rank 3", device);
  const Buffer most(capped, 1 << 20);
  REQUIRE_THROWS_WITH(capped.allocate(64), Catch::Contains("rank 3: out of device memory"));
  REQUIRE(device.allocate(std::size_t{1} << 50) == nullptr);
}

TEST_CASE("a failed call ends with exit code 4, the call, its arguments and the reason", "[cuda]") {
  try {
    PPTRAIN_CUDA(cudaSetDevice, 4711);
    FAIL("no such GPU");
  } catch (const Error& error) {
    REQUIRE(error.code() == ExitCode::runtime_failure);
    const std::string message = error.what();
    CAPTURE(message);
    REQUIRE(message.find("cudaSetDevice(4711) failed with the values (4711)") != std::string::npos);
    REQUIRE(message.find("cudaErrorInvalidDevice, 101") != std::string::npos);
  }
  (void)cudaGetLastError();
}

TEST_CASE("a program with CUDA says what it was built with and which GPUs there are", "[cuda]") {
  REQUIRE(cuda_build().rfind("CUDA ", 0) == 0);
  REQUIRE(num_gpus() > 0);
  REQUIRE(why_no_gpu().empty());
}
