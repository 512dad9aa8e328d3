#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "data/mixture.hpp"
#include "data/token_dataset.hpp"

namespace pptrain {

/// Files that samples are taken from, and how often.
struct MixSource {
  std::vector<std::string> paths;  ///< one behind the other
  double weight = 1.0;             ///< positive; share of the samples, in units of all weights
  std::string source;              ///< place for messages
};

/// Samples of several sources, mixed at random by weights: which source sample t B + i is from
/// follows from seed and number alone (mixture.hpp). Within a source samples are taken as
/// `TokenDataset` does without batches, each window once per epoch of that source.
class MixedDataset final : public Dataset {
 public:
  /// Opens and checks all files, as `TokenDataset` does; each source has at least T + 1 tokens.
  /// `options.source` is not used.
  MixedDataset(const std::vector<MixSource>& sources, const DatasetOptions& options);

  void sample(std::int64_t step, std::int64_t index, const SampleSlot& slot) const override;
  /// The windows of the sources, one source behind the other.
  std::int64_t num_windows() const override { return first_window_.back(); }
  void window(std::int64_t index, const SampleSlot& slot) const override;
  std::vector<TokenOrigin> origins() const override;

 private:
  std::int64_t global_batch_size_;
  Mixture mixture_;
  std::vector<std::unique_ptr<TokenDataset>> sources_;
  std::vector<std::int64_t> first_window_ = {0};  // of each source, then the number of windows
};

}  // namespace pptrain
