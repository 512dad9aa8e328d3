#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace pptrain {

/// Chooses which of several sources each sample of an endless series is taken from.
///
/// A pure function of (weights, seed, number of the sample). Of the first n samples, n a multiple
/// of the block size, each source has its share to within a few samples; within a block the sources
/// come in a random order.
class Mixture {
 public:
  /// A source, and how many samples of the series were taken from it before.
  struct Draw {
    std::size_t source = 0;
    std::int64_t number = 0;
  };
  static constexpr std::int64_t block_size = 64;

  /// `weights` are positive and finite; only their ratios count, and a share below 2^-32 becomes
  /// that.
  Mixture(const std::vector<double>& weights, std::uint64_t seed);

  /// Sample `number`, from 0.
  Draw at(std::int64_t number) const;

 private:
  std::vector<std::int64_t> taken_before(std::int64_t number) const;
  std::vector<std::int64_t> places_in_block(std::int64_t block, std::int64_t count) const;

  std::uint64_t seed_;
  /// For each source but the last, in units of 2^-32: its part of what the sources before it leave,
  /// and where in the series its rounding begins.
  std::vector<std::uint64_t> shares_, phases_;
};

}  // namespace pptrain
