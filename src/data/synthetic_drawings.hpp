#pragma once

#include <string>

#include "base/random.hpp"
#include "data/feature_dataset.hpp"

namespace pptrain {

struct SyntheticDrawingOptions {
  std::int64_t inputs = 1;  ///< numbers that an image is drawn from
  std::int64_t channels = 3;
  std::int64_t height = 1;
  std::int64_t width = 1;
  std::uint64_t seed = 0;
  std::string part = "train";  ///< images of another part are drawn from other numbers
};

/// Numbers that are normal(1), and images that follow from them, made when they are asked for: each
/// channel rises or falls evenly from left to right and from top to bottom, by three of the
/// numbers, which it goes on counting from the last to the first again; tanh keeps pixels from -1
/// to 1.
class SyntheticDrawings final : public FeatureTable {
 public:
  explicit SyntheticDrawings(const SyntheticDrawingOptions& options)
      : options_(options), latents_(options.seed, "synthetic.latents." + options.part) {}

  std::int64_t num_rows() const override { return 65536; }
  std::int64_t num_held_back() const override { return synthetic_held_back; }
  void row(std::int64_t index, const SampleSlot& slot) const override;

 private:
  SyntheticDrawingOptions options_;
  CounterRandom latents_;
};

}  // namespace pptrain
