#pragma once

#include <string>

#include "base/random.hpp"
#include "data/pair_table.hpp"

namespace pptrain {

struct SyntheticPairOptions {
  SourceShape shape;
  std::int64_t length = 1;      ///< T, targets of a sample
  std::int64_t vocabulary = 2;  ///< tokens are below
  std::uint64_t seed = 0;
  std::string part = "train";  ///< another part has other samples
};

/// Pairs that are made when they are asked for: a source is two to four tokens that are drawn, over
/// and over, and the targets are the same tokens in the other order, over and over. Sources and
/// targets are of drawn lengths, from half of the places on.
class SyntheticPairs final : public PairTable {
 public:
  explicit SyntheticPairs(const SyntheticPairOptions& options);

  std::int64_t num_rows() const override { return rows; }
  std::int64_t num_held_back() const override { return synthetic_held_back; }

 private:
  static constexpr std::int64_t rows = 65536;

  /// Numbers that are drawn for a row; the phrase comes behind its length.
  enum class Drawn : std::uint64_t { source_length, target_length, phrase_length, phrase };

  void read_source(std::int64_t index, std::uint32_t* tokens) const override;
  void read_targets(std::int64_t index, std::int32_t* targets) const override;
  std::int64_t source_length(std::int64_t index) const override;
  std::int64_t num_targets(std::int64_t index) const override;
  std::uint64_t drawn(std::int64_t index, Drawn what, std::uint64_t behind = 0) const;
  std::uint64_t phrase_length(std::int64_t index) const;
  std::int64_t token(std::int64_t index, std::uint64_t place_in_phrase) const;

  std::int64_t vocabulary_;
  CounterRandom random_;
};

}  // namespace pptrain
