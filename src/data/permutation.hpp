#pragma once

#include <cstdint>
#include <string_view>

#include "base/random.hpp"

namespace pptrain {

/// A random permutation of `[0, size)`, one value at a time in constant memory.
///
/// A Feistel network over the next power of four, walked until it lands inside (Black and Rogaway,
/// "Ciphers with arbitrary finite domains", CT-RSA 2002). A pure function of (seed, stream).
class Permutation {
 public:
  Permutation(std::uint64_t size, std::uint64_t seed, std::string_view stream);

  /// Where `index` goes; a bijection of `[0, size)`.
  std::uint64_t operator()(std::uint64_t index) const;

 private:
  std::uint64_t shuffle_once(std::uint64_t value) const;

  std::uint64_t size_;
  int half_bits_;  // each half of the network
  CounterRandom random_;
};

}  // namespace pptrain
