#include "data/mixture.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/error.hpp"
#include "base/interval.hpp"
#include "base/random.hpp"
#include "data/permutation.hpp"

namespace pptrain {
namespace {

constexpr std::uint64_t low_word = 0xffffffffULL;

/// floor((number * share + phase) / 2^32), exactly: the high and the low word of `number` one by
/// one, so that nothing overflows.
std::int64_t part_of(std::int64_t number, std::uint64_t share, std::uint64_t phase) {
  const auto n = static_cast<std::uint64_t>(number);
  return static_cast<std::int64_t>((n >> 32) * share + (((n & low_word) * share + phase) >> 32));
}

}  // namespace

Mixture::Mixture(const std::vector<double>& weights, std::uint64_t seed) : seed_(seed) {
  PPTRAIN_ASSERT(!weights.empty(), "a mixture of no sources");
  const CounterRandom random(seed, "data.mix.phase");
  const double largest = *std::max_element(weights.begin(), weights.end());
  double rest = 0.0;
  shares_.resize(weights.size() - 1);
  for (std::size_t s = weights.size(); s-- > 0;) {
    const double weight = weights[s] / largest;  // so that no sum overflows
    rest += weight;
    if (s + 1 == weights.size()) continue;
    const double share =
        std::clamp(std::round(std::ldexp(weight / rest, 32)), 1.0, static_cast<double>(low_word));
    shares_[s] = static_cast<std::uint64_t>(share);
  }
  for (std::size_t s = 0; s < shares_.size(); ++s) phases_.push_back(random.bits(s) & low_word);
}

/// How many of the first `number` samples each source has. No source loses any as the number grows:
/// a source's part of what is left grows by at most one where what is left does.
std::vector<std::int64_t> Mixture::taken_before(std::int64_t number) const {
  std::vector<std::int64_t> taken;
  for (std::size_t s = 0; s < shares_.size(); ++s) {
    taken.push_back(part_of(number, shares_[s], phases_[s]));
    number -= taken.back();
  }
  taken.push_back(number);
  return taken;
}

Mixture::Draw Mixture::at(std::int64_t number) const {
  PPTRAIN_ASSERT(number >= 0, "sample {}", number);
  const std::int64_t block = number / block_size;
  const std::vector<std::int64_t> before = taken_before(block * block_size);
  const std::vector<std::int64_t> behind = taken_before((block + 1) * block_size);
  const std::vector<std::int64_t> places = places_in_block(block, number % block_size + 1);
  // Each source has as many places in a row as it has samples of the block.
  Draw draw;
  Interval own = {0, behind[0] - before[0]};
  while (!own.contains(places.back())) {
    ++draw.source;
    own = {own.end, own.end + behind[draw.source] - before[draw.source]};
  }
  draw.number =
      before[draw.source] + std::count_if(places.begin(), places.end() - 1,
                                          [&](std::int64_t place) { return own.contains(place); });
  return draw;
}

/// The first places of a permutation of a block.
std::vector<std::int64_t> Mixture::places_in_block(std::int64_t block, std::int64_t count) const {
  const Permutation order(block_size, seed_, fmt::format("data.mix.block.{}", block));
  std::vector<std::int64_t> places;
  for (std::int64_t i = 0; i < count; ++i)
    places.push_back(static_cast<std::int64_t>(order(static_cast<std::uint64_t>(i))));
  return places;
}

}  // namespace pptrain
