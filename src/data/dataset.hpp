#pragma once

#include <cstdint>
#include <vector>

#include "data/token_origin.hpp"

namespace pptrain {

/// The target of a position that has none, as PyTorch's cross entropy has it.
inline constexpr std::int32_t no_target = -100;

/// Where a sample goes: its tokens or features, and its targets; null where they are not needed.
struct SampleSlot {
  std::uint32_t* tokens = nullptr;  ///< as many as the sequence, or a source, is long
  std::int32_t* targets = nullptr;  ///< as many as the sequence is long; one of a classifier
  float* features = nullptr;        ///< of a classifier, and what images are drawn from
  float* drawing = nullptr;         ///< the image that should be drawn, (row, column, channel)
  /// For each position of the sequence the first one of the same document; 0 where that begins
  /// before the sample.
  std::int32_t* document_begin = nullptr;
  std::uint32_t* token_types = nullptr;     ///< as many as the sequence is long, where tokens have
                                            ///< types
  std::uint32_t* decoder_tokens = nullptr;  ///< as many as there are targets, where there is a
                                            ///< source
  std::int32_t* input_length = nullptr;  ///< how many of `tokens` are no padding, which is behind
                                         ///< them
  std::int64_t* num_targets = nullptr;   ///< how many of the targets are there, where some may be
                                         ///< missing
};

/// The samples of a job. Which ones a step takes depends on (seed, step, sample index) alone, never
/// on the grid.
class Dataset {
 public:
  virtual ~Dataset() = default;
  /// Sample `index` of the global batch of step `step`, both from 0.
  virtual void sample(std::int64_t step, std::int64_t index, const SampleSlot& slot) const = 0;
  /// Samples in the order of the data, for evaluation.
  virtual std::int64_t num_windows() const = 0;
  /// How many of these, from the first on, an evaluation takes: all, but where they are made up
  /// without an end.
  virtual std::int64_t num_held_back() const { return num_windows(); }
  /// Writes sample `index`, from 0 to num_windows() - 1, in the order of the data into the slot.
  virtual void window(std::int64_t index, const SampleSlot& slot) const = 0;
  /// Whether a sample's tokens may end in padding, so that `SampleSlot::input_length` says
  /// something.
  virtual bool has_padding() const { return false; }
  /// The files of tokens that samples are made of; none where they are numbers or made up.
  virtual std::vector<TokenOrigin> origins() const { return {}; }
};

}  // namespace pptrain
