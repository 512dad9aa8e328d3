#include "data/synthetic_pairs.hpp"

#include <set>
#include <vector>

#include "support/catch.hpp"

namespace pptrain {
namespace {

struct Sample {
  std::vector<std::uint32_t> source, decoder;
  std::vector<std::int32_t> targets;
  std::int32_t length = 0;
  std::int64_t num_targets = 0;

  Sample(const FeatureTable& table, std::int64_t index, std::size_t sources, std::size_t count)
      : source(sources), decoder(count), targets(count) {
    SampleSlot slot;
    slot.tokens = source.data();
    slot.decoder_tokens = decoder.data();
    slot.targets = targets.data();
    slot.input_length = &length;
    slot.num_targets = &num_targets;
    table.row(index, slot);
  }
};

TEST_CASE("targets of synthetic pairs are the source's tokens in the other order", "[synthetic]") {
  const SyntheticPairs table({{13, 4, 2}, 9, 30, 7, "train"});
  std::set<std::int32_t> lengths;
  std::set<std::int64_t> counts;
  for (std::int64_t index = 0; index < 500; ++index) {
    const Sample sample(table, index, 13, 9);
    lengths.insert(sample.length);
    counts.insert(sample.num_targets);
    for (std::size_t s = 0; s < 13; ++s) {
      const bool is_padding = s >= static_cast<std::size_t>(sample.length);
      CHECK((sample.source[s] == 2) == is_padding);
      CHECK(sample.source[s] < 30);
    }
    // The targets say how long the phrase is; whichever it is, all of them fit it.
    const auto fits = [&](std::size_t n) {
      for (std::size_t s = n; s < static_cast<std::size_t>(sample.length); ++s) {
        if (sample.source[s] != sample.source[s - n]) return false;
      }
      for (std::size_t t = 0; t < static_cast<std::size_t>(sample.num_targets); ++t) {
        if (sample.targets[t] != static_cast<std::int32_t>(sample.source[n - 1 - t % n]))
          return false;
      }
      return true;
    };
    CHECK((fits(2) || fits(3) || fits(4)));
    CHECK(sample.decoder[0] == 4);
    for (std::size_t t = 0; t < 9; ++t) {
      CHECK((sample.targets[t] == no_target) ==
            (t >= static_cast<std::size_t>(sample.num_targets)));
      if (t == 0) continue;
      CHECK(sample.decoder[t] ==
            (sample.targets[t - 1] < 0 ? 2 : static_cast<std::uint32_t>(sample.targets[t - 1])));
    }
  }
  CHECK((*lengths.begin() == 7 && *lengths.rbegin() == 13));
  CHECK((*counts.begin() == 5 && *counts.rbegin() == 9));
  const SyntheticPairs same({{13, 4, 2}, 9, 30, 7, "train"}),
      other({{13, 4, 2}, 9, 30, 7, "validation"});
  CHECK(Sample(table, 3, 13, 9).source == Sample(same, 3, 13, 9).source);
  CHECK(Sample(table, 3, 13, 9).source != Sample(other, 3, 13, 9).source);
}

TEST_CASE("the shortest synthetic pairs have a token each", "[synthetic]") {
  const SyntheticPairs table({{1, 0, 0}, 1, 2, 7, "train"});
  for (std::int64_t index = 0; index < 20; ++index) {
    const Sample sample(table, index, 1, 1);
    CHECK((sample.length == 1 && sample.num_targets == 1 && sample.source[0] == 1));
  }
}

}  // namespace
}  // namespace pptrain
