#include "data/permutation.hpp"

#include <algorithm>
#include <bit>

#include "base/error.hpp"

namespace pptrain {
namespace {

// Four rounds are indistinguishable from random (Luby and Rackoff, 1988) for halves that are large;
// small ones take more.
constexpr std::uint64_t num_rounds = 8;

}  // namespace

Permutation::Permutation(std::uint64_t size, std::uint64_t seed, std::string_view stream)
    : size_(size),
      half_bits_(std::max(1, (static_cast<int>(std::bit_width(size - 1)) + 1) / 2)),
      random_(seed, stream) {
  PPTRAIN_ASSERT(size > 0 && half_bits_ <= 31, "a permutation of {} values", size);
}

std::uint64_t Permutation::operator()(std::uint64_t index) const {
  PPTRAIN_ASSERT(index < size_, "{} of {}", index, size_);
  std::uint64_t value = index;
  do {
    value = shuffle_once(value);
  } while (value >= size_);
  return value;
}

std::uint64_t Permutation::shuffle_once(std::uint64_t value) const {
  const std::uint64_t mask = (std::uint64_t{1} << half_bits_) - 1;
  std::uint64_t left = value >> half_bits_;
  std::uint64_t right = value & mask;
  for (std::uint64_t round = 0; round < num_rounds; ++round) {
    const std::uint64_t next = left ^ (random_.bits(round << 32 | right) & mask);
    left = right;
    right = next;
  }
  return left << half_bits_ | right;
}

}  // namespace pptrain
