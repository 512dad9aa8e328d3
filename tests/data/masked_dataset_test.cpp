#include "data/masked_dataset.hpp"

#include <algorithm>
#include <vector>

#include "support/catch.hpp"

namespace pptrain {
namespace {

constexpr std::int64_t length = 40;
constexpr std::int64_t batch = 8;
constexpr std::uint32_t mask = 3;
constexpr std::int64_t begin_token = 1;

/// Windows that begin with `begin_token`; the other tokens are 4 and more.
class Text final : public Dataset {
 public:
  void sample(std::int64_t step, std::int64_t index, const SampleSlot& slot) const override {
    window(step * batch + index, slot);
  }
  std::int64_t num_windows() const override { return 1000; }
  void window(std::int64_t index, const SampleSlot& slot) const override {
    for (std::int64_t t = 0; t < length; ++t) slot.tokens[t] = own(index, t);
  }
  static std::uint32_t own(std::int64_t index, std::int64_t t) {
    return static_cast<std::uint32_t>(t == 0 ? begin_token : 4 + (index * 7 + t * 3) % 90);
  }
};

/// The windows of `Text`, whose tokens have types.
class TypedText final : public Dataset {
 public:
  void sample(std::int64_t step, std::int64_t index, const SampleSlot& slot) const override {
    window(step * batch + index, slot);
  }
  std::int64_t num_windows() const override { return 1000; }
  void window(std::int64_t index, const SampleSlot& slot) const override {
    Text().window(index, slot);
    for (std::int64_t t = 0; t < length; ++t)
      slot.token_types[t] = static_cast<std::uint32_t>(t % 2);
  }
};

/// Text of tokens that may not be hidden.
class OnlySpecial final : public Dataset {
 public:
  void sample(std::int64_t, std::int64_t, const SampleSlot& slot) const override {
    window(0, slot);
  }
  std::int64_t num_windows() const override { return 1; }
  void window(std::int64_t, const SampleSlot& slot) const override {
    std::fill_n(slot.tokens, length, static_cast<std::uint32_t>(begin_token));
  }
};

/// The windows of `Text`, of which window i has no more than `length_of(i)` tokens before its
/// padding.
class PaddedText final : public Dataset {
 public:
  void sample(std::int64_t step, std::int64_t index, const SampleSlot& slot) const override {
    window(step * batch + index, slot);
  }
  std::int64_t num_windows() const override { return 1000; }
  void window(std::int64_t index, const SampleSlot& slot) const override {
    Text().window(index, slot);
    *slot.input_length = length_of(index);
  }
  bool has_padding() const override { return true; }
  static std::int32_t length_of(std::int64_t index) {
    return static_cast<std::int32_t>(2 + index % (length - 2));
  }
};

MaskedDataset masked(double probability, std::uint64_t seed = 5) {
  return {std::make_unique<Text>(), {mask, probability, {begin_token}, length, 100, batch, seed}};
}

struct Sample {
  std::vector<std::uint32_t> tokens = std::vector<std::uint32_t>(length);
  std::vector<std::uint32_t> types = std::vector<std::uint32_t>(length, 7);
  std::vector<std::int32_t> targets = std::vector<std::int32_t>(length);
  std::int64_t num_targets = -1;

  SampleSlot slot() {
    SampleSlot slot;
    slot.tokens = tokens.data();
    slot.targets = targets.data();
    slot.token_types = types.data();
    slot.num_targets = &num_targets;
    return slot;
  }
};

Sample sample_of(const Dataset& dataset, std::int64_t step, std::int64_t index) {
  Sample sample;
  dataset.sample(step, index, sample.slot());
  return sample;
}

}  // namespace

TEST_CASE("masked positions have their token as label, and show the mask, it or another",
          "[data]") {
  const MaskedDataset dataset = masked(0.15);
  double labels = 0, masks = 0, own = 0;
  constexpr std::int64_t steps = 250;
  for (std::int64_t step = 0; step < steps; ++step) {
    for (std::int64_t index = 0; index < batch; ++index) {
      const Sample sample = sample_of(dataset, step, index);
      std::int64_t count = 0;
      CHECK(sample.targets[0] == no_target);
      for (std::int64_t t = 0; t < length; ++t) {
        const auto at = static_cast<std::size_t>(t);
        const std::uint32_t hidden = Text::own(step * batch + index, t);
        CHECK(sample.types[at] == 0);
        if (sample.targets[at] == no_target) {
          CHECK(sample.tokens[at] == hidden);
          continue;
        }
        ++count;
        CHECK(sample.targets[at] == static_cast<std::int32_t>(hidden));
        if (sample.tokens[at] == mask) ++masks;
        if (sample.tokens[at] == hidden) ++own;
      }
      CHECK(count == sample.num_targets);
      CHECK(count >= 1);
      labels += static_cast<double>(count);
    }
  }
  // 78,000 positions; each share within five deviations of what it is drawn with. Any token is the
  // mask or the own one in one of a hundred cases.
  CHECK(labels / (steps * batch * (length - 1)) == Approx(0.15).margin(0.0065));
  CHECK(masks / labels == Approx(0.801).margin(0.019));
  CHECK(own / labels == Approx(0.101).margin(0.015));
}

TEST_CASE("tokens keep their types where others are hidden", "[data]") {
  const MaskedDataset dataset(std::make_unique<TypedText>(),
                              {mask, 0.15, {begin_token}, length, 100, batch, 5});
  const Sample sample = sample_of(dataset, 1, 2);
  for (std::size_t t = 0; t < sample.types.size(); ++t) CHECK(sample.types[t] == t % 2);
  CHECK(sample.tokens == sample_of(masked(0.15), 1, 2).tokens);
}

TEST_CASE("padding is never hidden, and what is hidden in front of it stays", "[data]") {
  const MaskedDataset dataset(std::make_unique<PaddedText>(),
                              {mask, 0.3, {begin_token}, length, 100, batch, 5});
  CHECK(dataset.has_padding());
  CHECK_FALSE(masked(0.3).has_padding());
  for (std::int64_t index = 0; index < batch; ++index) {
    Sample sample;
    std::int32_t end = 0;
    SampleSlot slot = sample.slot();
    slot.input_length = &end;
    dataset.sample(3, index, slot);
    CHECK(end == PaddedText::length_of(3 * batch + index));
    CHECK(sample.num_targets >= 1);
    const Sample whole = sample_of(masked(0.3), 3, index);
    for (std::int32_t t = 0; t < length; ++t) {
      const auto at = static_cast<std::size_t>(t);
      if (t >= end) CHECK(sample.targets[at] == no_target);
      if (t < end && sample.num_targets > 1) CHECK(sample.targets[at] == whole.targets[at]);
    }
  }
}

TEST_CASE("masks follow from seed, step and sample", "[data]") {
  const MaskedDataset dataset = masked(0.15);
  CHECK(sample_of(dataset, 2, 3).tokens == sample_of(masked(0.15), 2, 3).tokens);
  CHECK(sample_of(dataset, 2, 3).targets != sample_of(masked(0.15, 6), 2, 3).targets);
  // Text repeats after 90 windows; what is hidden of it does not.
  CHECK(Text::own(0, 5) == Text::own(90 * batch, 5));
  CHECK(sample_of(dataset, 0, 0).targets != sample_of(dataset, 90, 0).targets);
  Sample first, again;
  dataset.window(4, first.slot());
  dataset.window(4, again.slot());
  CHECK(first.targets == again.targets);
}

TEST_CASE("a sample has a label where one may be, and none where none may", "[data]") {
  const MaskedDataset dataset = masked(1e-9);
  for (std::int64_t index = 0; index < batch; ++index)
    CHECK(sample_of(dataset, 0, index).num_targets == 1);
  const MaskedDataset none(std::make_unique<OnlySpecial>(),
                           {mask, 0.5, {begin_token}, length, 100, batch, 5});
  CHECK(sample_of(none, 0, 0).num_targets == 0);
}

}  // namespace pptrain
