#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "base/random.hpp"
#include "data/dataset.hpp"

namespace pptrain {

/// How tokens are hidden.
struct MaskOptions {
  std::uint32_t mask_token = 0;                    ///< stands where a token is hidden
  double probability = 0.15;                       ///< that a position has a label
  std::vector<std::int64_t> unmasked_tokens = {};  ///< that are never hidden, nor is `mask_token`
  std::int64_t length = 1;                         ///< T, positions of a sample
  std::int64_t vocabulary = 1;
  std::int64_t global_batch_size = 1;  ///< B
  std::uint64_t seed = 0;
};

/// Masked text from the windows of another dataset (Devlin et al., "BERT", 2019, section 3.1). Of
/// the positions that are drawn, eight in ten show the mask, one in ten any token and one in ten
/// its own; all have their own token as label, the others none. At least one position is drawn
/// where one may be, and none that is padding. Tokens have type 0 where the other dataset gives
/// them none.
///
/// Positions are drawn by seed, step and sample, so that they differ from epoch to epoch (Liu et
/// al., "RoBERTa", 2019, section 4.1) and not from plan to plan; those of a window are the same in
/// every evaluation.
class MaskedDataset final : public Dataset {
 public:
  MaskedDataset(std::unique_ptr<Dataset> text, const MaskOptions& options);

  void sample(std::int64_t step, std::int64_t index, const SampleSlot& slot) const override;
  std::int64_t num_windows() const override { return text_->num_windows(); }
  std::int64_t num_held_back() const override { return text_->num_held_back(); }
  void window(std::int64_t index, const SampleSlot& slot) const override;
  bool has_padding() const override { return text_->has_padding(); }
  std::vector<TokenOrigin> origins() const override { return text_->origins(); }

 private:
  /// Random numbers of one series of samples, of which this is number `sample`.
  struct Draws {
    const CounterRandom& random;
    std::int64_t sample;
  };
  /// The tokens that `read` puts into a slot for them, and how many of them are no padding.
  struct Text {
    std::vector<std::uint32_t> tokens;
    std::int32_t length = 0;
  };
  /// Types and the length go into the slot of the sample too.
  Text text_of(const std::function<void(const SampleSlot&)>& read, const SampleSlot& slot) const;
  void hide(const Text& text, const Draws& draws, const SampleSlot& slot) const;
  std::vector<std::size_t> drawn_positions(const Text& text, const Draws& draws) const;
  bool may_be_hidden(std::uint32_t token) const;
  std::uint32_t shown(std::uint32_t token, std::uint64_t bits) const;

  std::unique_ptr<Dataset> text_;
  MaskOptions options_;
  CounterRandom of_samples_;
  CounterRandom of_windows_;
};

}  // namespace pptrain
