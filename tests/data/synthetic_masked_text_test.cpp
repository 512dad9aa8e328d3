#include "data/synthetic_masked_text.hpp"

#include <algorithm>
#include <vector>

#include "support/catch.hpp"

namespace pptrain {
namespace {

struct Sample {
  std::vector<std::uint32_t> tokens, types;
  std::vector<std::int32_t> targets;
  std::int64_t num_targets = 0;

  Sample(const FeatureTable& table, std::int64_t index, std::size_t length)
      : tokens(length), types(length), targets(length) {
    SampleSlot slot;
    slot.tokens = tokens.data();
    slot.token_types = types.data();
    slot.targets = targets.data();
    slot.num_targets = &num_targets;
    table.row(index, slot);
  }
};

TEST_CASE("hidden tokens of synthetic text stand elsewhere in their sample", "[synthetic]") {
  const SyntheticMaskedText table({24, 40, 3, 7, "train"});
  std::int64_t hidden = 0;
  constexpr std::int64_t looked_at = 500;
  for (std::int64_t index = 0; index < looked_at; ++index) {
    const Sample sample(table, index, 24);
    std::int64_t labels = 0;
    std::vector<std::int64_t> whole;
    for (std::size_t t = 0; t < 24; ++t) {
      CHECK(sample.types[t] == t / 8);
      const bool is_labelled = sample.targets[t] != no_target;
      CHECK(is_labelled == (sample.tokens[t] == 0));
      if (is_labelled) ++labels;
      whole.push_back(is_labelled ? sample.targets[t]
                                  : static_cast<std::int64_t>(sample.tokens[t]));
      CHECK((0 < whole.back() && whole.back() < 40));
    }
    CHECK(labels == sample.num_targets);
    CHECK(labels >= 1);
    const auto repeats = [&](std::size_t period) {
      return std::equal(whole.begin() + static_cast<std::ptrdiff_t>(period), whole.end(),
                        whole.begin());
    };
    CHECK((repeats(2) || repeats(3) || repeats(4)));
    hidden += labels;
  }
  // One of 24, and 15% of the others: 4.45 in a sample, with a deviation of 1.7 that is 0.08 for
  // the mean of 500.
  CHECK(static_cast<double>(hidden) / looked_at == Approx(4.45).margin(0.4));
  CHECK(Sample(table, 3, 24).tokens ==
        Sample(SyntheticMaskedText({24, 40, 3, 7, "train"}), 3, 24).tokens);
  CHECK(Sample(table, 3, 24).tokens !=
        Sample(SyntheticMaskedText({24, 40, 3, 7, "validation"}), 3, 24).tokens);
}

TEST_CASE("batches of a table that wraps go on from its end to its beginning", "[features]") {
  FeatureOptions options;
  options.global_batch_size = 40000;
  options.shuffle = false;
  options.wraps = true;
  const FeatureDataset data(
      std::make_unique<SyntheticMaskedText>(SyntheticTextOptions{4, 1000, 1, 7, "train"}), options);
  const SyntheticMaskedText table({4, 1000, 1, 7, "train"});
  const auto targets_of = [&](std::int64_t step, std::int64_t index) {
    std::vector<std::int32_t> targets(4);
    SampleSlot slot;
    slot.targets = targets.data();
    data.sample(step, index, slot);
    return targets;
  };
  CHECK(targets_of(0, 7) == Sample(table, 7, 4).targets);
  CHECK(targets_of(1, 25535) == Sample(table, 65535, 4).targets);
  CHECK(targets_of(1, 25536) == Sample(table, 0, 4).targets);
  CHECK(targets_of(2, 0) == Sample(table, 14464, 4).targets);
}

}  // namespace
}  // namespace pptrain
