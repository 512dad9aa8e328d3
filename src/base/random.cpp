#include "base/random.hpp"

#include <Random123/philox.h>

#include <array>
#include <cmath>
#include <numbers>

namespace pptrain {
namespace {

using Words = std::array<std::uint32_t, 4>;

Words philox(std::uint64_t seed, std::uint64_t stream, std::uint64_t index) {
  const auto low = [](std::uint64_t x) { return static_cast<std::uint32_t>(x); };
  const auto high = [](std::uint64_t x) { return static_cast<std::uint32_t>(x >> 32); };
  const r123::Philox4x32::ctr_type counter = {{low(index), high(index), low(stream), high(stream)}};
  const r123::Philox4x32::key_type key = {{low(seed), high(seed)}};
  const auto random = r123::Philox4x32()(counter, key);
  return {random[0], random[1], random[2], random[3]};
}

/// Two normal numbers from two words.
std::array<float, 2> box_muller(std::uint32_t a, std::uint32_t b) {
  const float radius =
      std::sqrt(-2.0F * std::log((static_cast<float>(a >> 8) + 1.0F) * 0x1.0p-24F));
  const float angle = 2.0F * std::numbers::pi_v<float> * static_cast<float>(b >> 8) * 0x1.0p-24F;
  return {radius * std::cos(angle), radius * std::sin(angle)};
}

}  // namespace

/// FNV-1a
std::uint64_t stream_of(std::string_view name) {
  std::uint64_t hash = 14695981039346656037ULL;
  for (const char c : name) hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211ULL;
  return hash;
}

CounterRandom::CounterRandom(std::uint64_t seed, std::string_view stream)
    : seed_(seed), stream_(stream_of(stream)) {}

std::uint64_t CounterRandom::bits(std::uint64_t index) const {
  const Words random = philox(seed_, stream_, index);
  return static_cast<std::uint64_t>(random[1]) << 32 | random[0];
}

double CounterRandom::uniform(std::uint64_t index) const {
  return static_cast<double>(bits(index) >> 11) * 0x1.0p-53;
}

void CounterRandom::fill_normal(std::uint64_t begin, std::size_t count, float* out) const {
  // One Philox block gives the four numbers of indices 4b ... 4b + 3.
  std::array<float, 4> block = {};
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint64_t index = begin + i;
    if (i == 0 || index % 4 == 0) {
      const Words random = philox(seed_, stream_, index / 4);
      const auto first = box_muller(random[0], random[1]);
      const auto second = box_muller(random[2], random[3]);
      block = {first[0], first[1], second[0], second[1]};
    }
    out[i] = block[index % 4];
  }
}

}  // namespace pptrain
