#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace pptrain {

/// The stream of a name: a hash that is the same on every machine.
std::uint64_t stream_of(std::string_view name);

/// Counter-based random numbers: a pure function of (seed, stream, index), so that parameters
/// and data order do not depend on how work is divided over ranks.
///
/// Philox 4x32-10 of Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC11.
class CounterRandom {
 public:
  /// `stream` names what is drawn, for instance a parameter's name.
  CounterRandom(std::uint64_t seed, std::string_view stream);

  /// 64 random bits for this index.
  std::uint64_t bits(std::uint64_t index) const;
  /// Uniform in [0, 1).
  double uniform(std::uint64_t index) const;
  /// Normal numbers (mean 0, deviation 1, Box-Muller) of indices [begin, begin + count).
  void fill_normal(std::uint64_t begin, std::size_t count, float* out) const;

 private:
  std::uint64_t seed_;
  std::uint64_t stream_;
};

}  // namespace pptrain
