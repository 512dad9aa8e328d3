#include "data/mixture.hpp"

#include <cmath>
#include <map>
#include <numeric>
#include <set>

#include "data/files.hpp"
#include "data/mixed_dataset.hpp"
#include "support/catch.hpp"
#include "support/complaint.hpp"

namespace pptrain {
namespace {

const std::vector<std::vector<double>> some_weights = {
    {1.0},           {0.7, 0.3},        {1.0, 1.0},
    {5.0, 3.0, 2.0}, {1e-4, 1.0, 1e-4}, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11},
    {1e300, 1e300}};

TEST_CASE("each source of a mix is taken in its order, without a gap", "[data]") {
  for (const auto& weights : some_weights) {
    const Mixture mixture(weights, 5);
    std::vector<std::int64_t> taken(weights.size(), 0);
    for (std::int64_t n = 0; n < 5000; ++n) {
      const Mixture::Draw draw = mixture.at(n);
      REQUIRE(draw.source < weights.size());
      REQUIRE(draw.number == taken[draw.source]++);
    }
  }
}

TEST_CASE("shares of a mix are its weights within the statistical error", "[data]") {
  for (const auto& weights : some_weights) {
    const double sum = std::accumulate(
        weights.begin(), weights.end(), 0.0,
        [&](double before, double weight) { return before + weight / weights.front(); });
    for (const std::uint64_t seed : {1, 2}) {
      const Mixture mixture(weights, seed);
      std::vector<double> taken(weights.size(), 0.0);
      for (std::int64_t n = 1; n <= 6000; ++n) {
        taken[mixture.at(n - 1).source] += 1.0;
        if (n % 1234 != 0 && n != 6000) continue;
        for (std::size_t s = 0; s < weights.size(); ++s) {
          const double share = weights[s] / weights.front() / sum;
          // Five deviations of independent draws, and one sample of rounding for each source.
          const double tolerance = 5.0 * std::sqrt(static_cast<double>(n) * share * (1.0 - share)) +
                                   static_cast<double>(weights.size());
          CAPTURE(n, s, share, seed);
          CHECK(std::abs(taken[s] - static_cast<double>(n) * share) <= tolerance);
        }
      }
    }
  }
}

TEST_CASE("a source that is rarely taken has its share in the long run", "[data]") {
  const Mixture mixture({1.0, 1e-5}, 9);
  // The number of a sample of the second source counts those before it.
  const std::int64_t far = 3000000000000;
  const std::int64_t of_first = mixture.at(far).number;
  CHECK(std::abs(static_cast<double>(far - of_first) / static_cast<double>(far) - 1e-5 / 1.00001) <
        1e-9);
}

TEST_CASE("sources of a mix follow each other at random", "[data]") {
  const Mixture mixture({1.0, 1.0}, 4);
  int changes = 0;
  constexpr int num_samples = 8192;
  for (int n = 1; n < num_samples; ++n) changes += mixture.at(n).source != mixture.at(n - 1).source;
  // Half of all pairs differ, in a block of b samples b / (2 b - 2); five deviations sqrt(n / 4).
  CHECK(std::abs(changes - num_samples / 2) <
        5 * std::sqrt(num_samples / 4.0) + static_cast<double>(num_samples) / Mixture::block_size);
  const Mixture other({1.0, 1.0}, 5);
  int differing = 0;
  for (int n = 0; n < num_samples; ++n) differing += mixture.at(n).source != other.at(n).source;
  CHECK(std::abs(differing - num_samples / 2) < 5 * std::sqrt(num_samples / 4.0));
}

/// A file of windows of four tokens that all name the window.
std::string windows_of(const TestFolder& folder, const std::string& name, std::uint16_t first,
                       int count) {
  std::vector<std::uint16_t> tokens;
  for (int window = 0; window < count; ++window)
    tokens.insert(tokens.end(), 4, static_cast<std::uint16_t>(first + window));
  tokens.push_back(first);
  return folder.write_tokens(name, tokens);
}

DatasetOptions mix_options(std::int64_t batch, bool shuffle) {
  DatasetOptions options;
  options.vocabulary_size = 4000;
  options.sequence_length = 4;
  options.global_batch_size = batch;
  options.shuffle = shuffle;
  options.seed = 11;
  return options;
}

std::vector<std::uint32_t> sample_of(const Dataset& data, std::int64_t step, std::int64_t index) {
  std::vector<std::uint32_t> tokens(4);
  SampleSlot slot;
  slot.tokens = tokens.data();
  data.sample(step, index, slot);
  return tokens;
}

TEST_CASE("a mixed sample depends on seed and number alone", "[data]") {
  const TestFolder folder("mixed");
  const std::vector<MixSource> sources = {
      {{windows_of(folder, "a.bin", 0, 50)}, 2.0, ""},
      {{windows_of(folder, "b.bin", 1000, 30), windows_of(folder, "c.bin", 2000, 9)}, 1.0, ""}};
  const MixedDataset data(sources, mix_options(12, true));
  const MixedDataset halved(sources, mix_options(6, true));
  DatasetOptions reseeded = mix_options(12, true);
  reseeded.seed = 12;
  const MixedDataset other(sources, reseeded);
  int differing = 0;
  // The one asks in order, the other backwards and in smaller batches: nothing is remembered
  // between calls.
  for (std::int64_t number = 0; number < 600; ++number) {
    const std::int64_t back = 599 - number;
    CHECK(sample_of(data, back / 12, back % 12) == sample_of(halved, back / 6, back % 6));
    differing +=
        sample_of(data, number / 12, number % 12) != sample_of(other, number / 12, number % 12);
  }
  CHECK(differing > 500);
}

TEST_CASE("windows of a mix are taken once per epoch of their source", "[data]") {
  const TestFolder folder("epochs");
  const std::vector<MixSource> sources = {{{windows_of(folder, "a.bin", 0, 50)}, 2.0, ""},
                                          {{windows_of(folder, "b.bin", 1000, 20)}, 1.0, ""}};
  for (const bool shuffle : {false, true}) {
    CAPTURE(shuffle);
    const MixedDataset data(sources, mix_options(10, shuffle));
    // Shuffled windows begin at another offset in each epoch, and leave one out.
    std::map<std::size_t, std::vector<std::uint32_t>> taken;
    for (std::int64_t number = 0; number < 3000; ++number) {
      const std::vector<std::uint32_t> tokens = sample_of(data, number / 10, number % 10);
      taken[tokens[0] < 1000 ? 0 : 1].push_back(tokens[0]);
    }
    for (const auto& [source, windows] : taken) {
      const std::size_t epoch = (source == 0 ? 50U : 20U) - (shuffle ? 1U : 0U);
      REQUIRE(windows.size() > 3 * epoch);
      for (std::size_t first = 0; first + epoch <= windows.size(); first += epoch) {
        const auto begin = windows.begin() + static_cast<std::ptrdiff_t>(first);
        const std::set<std::uint32_t> distinct(begin, begin + static_cast<std::ptrdiff_t>(epoch));
        CHECK(distinct.size() == epoch);
        if (!shuffle) CHECK(std::is_sorted(begin, begin + static_cast<std::ptrdiff_t>(epoch)));
      }
    }
    // Two sources of the same file are not taken in step.
    const MixedDataset twins({sources[0], sources[0]}, mix_options(10, true));
    CHECK(twins.num_windows() == 100);
  }
}

TEST_CASE("the windows of a mix are those of its sources", "[data]") {
  const TestFolder folder("mixwindows");
  const MixedDataset data({{{windows_of(folder, "a.bin", 0, 3)}, 1.0, ""},
                           {{windows_of(folder, "b.bin", 1000, 2)}, 9.0, ""}},
                          mix_options(4, true));
  REQUIRE(data.num_windows() == 5);
  const std::vector<std::uint32_t> firsts = {0, 1, 2, 1000, 1001};
  for (std::int64_t window = 0; window < 5; ++window) {
    std::vector<std::uint32_t> tokens(4);
    SampleSlot slot;
    slot.tokens = tokens.data();
    data.window(window, slot);
    CHECK(tokens == std::vector<std::uint32_t>(4, firsts[static_cast<std::size_t>(window)]));
  }
}

TEST_CASE("a source that holds no sample is refused at its place", "[data]") {
  const TestFolder folder("small");
  const std::string good = windows_of(folder, "a.bin", 0, 3);
  const std::string small = folder.write_tokens("small.bin", {1, 2, 3, 4});
  const auto refused = [&](const std::string& path) {
    return complaint_of([&] {
      MixedDataset({{{good}, 1.0, "c.toml:3"}, {{path}, 1.0, "c.toml:6"}}, mix_options(4, true));
    });
  };
  CHECK(refused(small).starts_with("c.toml:6: " + small +
                                   ": 4 tokens are too few (one sample takes 1 x 4 + 1 = 5)"));
  CHECK(refused(folder.path("none")).starts_with("c.toml:6: "));
}

}  // namespace
}  // namespace pptrain
