#include "base/random.hpp"

#include <Random123/philox.h>

#include <cmath>
#include <numbers>

namespace pptrain {
namespace {

/// FNV-1a: a stable hash of a name, the same on every machine.
std::uint64_t hash_name(std::string_view name) {
  std::uint64_t hash = 14695981039346656037ULL;
  for (const char c : name) hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211ULL;
  return hash;
}

double unit(std::uint64_t bits) { return static_cast<double>(bits >> 11) * 0x1.0p-53; }

}  // namespace

CounterRandom::CounterRandom(std::uint64_t seed, std::string_view stream) : seed_(seed), stream_(hash_name(stream)) {}

std::uint64_t CounterRandom::bits(std::uint64_t index) const {
  const r123::Philox4x32 philox;
  const r123::Philox4x32::ctr_type counter = {{static_cast<std::uint32_t>(index), static_cast<std::uint32_t>(index >> 32),
                                               static_cast<std::uint32_t>(stream_),
                                               static_cast<std::uint32_t>(stream_ >> 32)}};
  const r123::Philox4x32::key_type key = {{static_cast<std::uint32_t>(seed_), static_cast<std::uint32_t>(seed_ >> 32)}};
  const auto random = philox(counter, key);
  return static_cast<std::uint64_t>(random[1]) << 32 | random[0];
}

double CounterRandom::uniform(std::uint64_t index) const { return unit(bits(index)); }

double CounterRandom::normal(std::uint64_t index) const {
  const double radius = std::sqrt(-2.0 * std::log(1.0 - unit(bits(2 * index))));
  return radius * std::cos(2.0 * std::numbers::pi * unit(bits(2 * index + 1)));
}

}  // namespace pptrain
