#pragma once

#include <string>

#include "base/random.hpp"
#include "data/feature_dataset.hpp"

namespace pptrain {

struct SyntheticTextOptions {
  std::int64_t length = 1;       ///< T, positions of a sample
  std::int64_t vocabulary = 2;   ///< tokens are below; 0 stands where one is hidden
  std::int64_t token_types = 1;  ///< a sample has them one after another, in equal parts
  std::uint64_t seed = 0;
  std::string part = "train";  ///< another part has other samples
};

/// Masked text that is made when it is asked for: two to four tokens that are drawn, over and over,
/// so that a hidden token stands elsewhere in its sample. About 15% of the positions are hidden and
/// have labels, one of a sample at least.
class SyntheticMaskedText final : public FeatureTable {
 public:
  explicit SyntheticMaskedText(const SyntheticTextOptions& options);

  std::int64_t num_rows() const override { return rows; }
  std::int64_t num_held_back() const override { return synthetic_held_back; }
  void row(std::int64_t index, const SampleSlot& slot) const override;

 private:
  static constexpr std::int64_t rows = 65536;

  bool is_hidden(std::int64_t index, std::int64_t position) const;
  std::int64_t token(std::int64_t index, std::int64_t position) const;

  SyntheticTextOptions options_;
  CounterRandom phrases_;
  CounterRandom hidden_;
};

}  // namespace pptrain
