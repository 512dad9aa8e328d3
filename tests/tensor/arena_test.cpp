#include "tensor/arena.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <utility>

#include "base/error.hpp"
#include "support/catch.hpp"
#include "support/late_device.hpp"
#include "tensor/tensor.hpp"

using namespace pptrain;

TEST_CASE("an arena counts what is in use and its peak", "[tensor]") {
  Arena arena;
  REQUIRE(arena.bytes_in_use() == 0);
  {
    const Buffer one(arena, 1024);
    REQUIRE(arena.bytes_in_use() == 1024);
    const Buffer two(arena, 2048);
    REQUIRE(arena.bytes_in_use() == 3072);
  }
  REQUIRE(arena.bytes_in_use() == 0);
  REQUIRE(arena.peak_bytes() == 3072);
  arena.reset_peak();
  REQUIRE(arena.peak_bytes() == 0);
}

TEST_CASE("an arena wastes at most an eighth and aligns to 64 bytes", "[tensor]") {
  Arena arena;
  for (const std::size_t bytes : {0, 1, 63, 64, 65, 1000, 1025, 4097, 100001, 123456789}) {
    const Buffer block(arena, bytes);
    REQUIRE(reinterpret_cast<std::uintptr_t>(block.data()) % 64 == 0);
    REQUIRE(arena.bytes_in_use() >= bytes);
    REQUIRE(arena.bytes_in_use() <= bytes + bytes / 8 + 64);
  }
}

TEST_CASE("blocks of a device are given out in the same order, whatever order they came back in",
          "[tensor]") {
  test::LateDevice device;
  Arena arena(0, "", device);
  std::vector<Buffer> blocks(3);
  std::vector<void*> first;
  for (Buffer& block : blocks) {
    block = Buffer(arena, 256);
    first.push_back(block.data());
  }
  std::sort(first.begin(), first.end());
  std::sort(blocks.begin(), blocks.end(),
            [](const Buffer& a, const Buffer& b) { return a.data() < b.data(); });
  for (const auto& order : {std::array{0, 1, 2}, std::array{2, 0, 1}, std::array{1, 2, 0}}) {
    for (const int block : order) blocks[static_cast<std::size_t>(block)].reset();
    std::vector<void*> now;
    for (Buffer& block : blocks) {
      block = Buffer(arena, 256);
      now.push_back(block.data());
    }
    REQUIRE(now == first);
  }
}

TEST_CASE("an arena hands out freed blocks again", "[tensor]") {
  Arena arena;
  void* first = arena.allocate(5000);
  void* second = arena.allocate(5000);
  REQUIRE(first != second);
  arena.release(first, 5000);
  REQUIRE(arena.allocate(5000) == first);
  arena.release(first, 5000);
  arena.release(second, 5000);
}

TEST_CASE("an arena refuses what exceeds its capacity and stays usable", "[tensor]") {
  Arena arena(4096);
  const Buffer half(arena, 2048);
  try {
    const Buffer too_much(arena, 4096);
    FAIL("4096 bytes were given with 2048 of 4096 in use");
  } catch (const Error& error) {
    REQUIRE(error.code() == ExitCode::runtime_failure);
    REQUIRE_THAT(error.what(), Catch::Contains("out of device memory"));
  }
  REQUIRE(arena.bytes_in_use() == 2048);
  const Buffer rest(arena, 2048);
  REQUIRE(arena.bytes_in_use() == 4096);
}

TEST_CASE("cached blocks of other sizes make room before the cap or the host's memory is exceeded",
          "[tensor]") {
  // Memory really held (in use and cached) stays within the cap, not only what is in use.
  Arena arena(1 << 20);
  for (std::size_t bytes = 1 << 19; bytes >= 1 << 14; bytes /= 2) Buffer(arena, bytes).reset();
  REQUIRE(arena.bytes_held() <= std::size_t{1} << 20);
  const Buffer whole(arena, 1 << 20);
  REQUIRE(arena.bytes_in_use() == std::size_t{1} << 20);
  REQUIRE(arena.bytes_held() == std::size_t{1} << 20);
}

TEST_CASE("sizes that differ from iteration to iteration share blocks") {
  Arena arena;
  for (std::size_t i = 0; i < 1000; ++i) {
    // Two blocks, of which one takes what the other one leaves, use as much in every iteration.
    const std::size_t one = (1 << 16) + 512 * (i * 37 % 128);
    const Buffer first(arena, one), second(arena, (1 << 18) - one);
    REQUIRE(arena.bytes_in_use() <= (1 << 18) + (1 << 13));
  }
  CHECK(arena.bytes_held() <= 2 * arena.peak_bytes());
  CHECK(arena.peak_bytes() <= (1 << 18) + (1 << 13));
}

TEST_CASE("a poisoned arena gives NaNs, also in blocks that were used", "[tensor]") {
  Arena arena;
  arena.poison(true);
  for (int round = 0; round < 2; ++round) {
    const Tensor f32(arena, 3, 5);
    const Tensor bf16(arena, 3, 5, DType::bf16);
    for (std::size_t i = 0; i < 15; ++i) {
      REQUIRE(std::isnan(f32.f32()[i]));
      REQUIRE(std::isnan(static_cast<float>(bf16.matrix().at<BFloat16>(0)[i])));
      f32.f32()[i] = 1.0f;
    }
  }
}

TEST_CASE("a buffer gives its block back once, also after moves", "[tensor]") {
  Arena arena;
  Buffer first(arena, 128);
  Buffer second(std::move(first));
  REQUIRE_FALSE(first);
  first = std::move(second);
  REQUIRE(first);
  REQUIRE(arena.bytes_in_use() == 128);
  first = Buffer(arena, 256);
  REQUIRE(arena.bytes_in_use() == 256);
  first.reset();
  first.reset();
  REQUIRE(arena.bytes_in_use() == 0);
}
