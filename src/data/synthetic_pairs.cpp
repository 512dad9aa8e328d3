#include "data/synthetic_pairs.hpp"

namespace pptrain {
namespace {

constexpr std::uint64_t longest_source_phrase = 4;
constexpr std::uint64_t drawn_for_a_row = 3 + longest_source_phrase;

/// From half of the places, rounded up, to all.
std::int64_t length_of(std::uint64_t drawn, std::int64_t places) {
  return places - static_cast<std::int64_t>(drawn % static_cast<std::uint64_t>(places / 2 + 1));
}

}  // namespace

SyntheticPairs::SyntheticPairs(const SyntheticPairOptions& options)
    : PairTable(options.shape, options.length),
      vocabulary_(options.vocabulary),
      random_(options.seed, "synthetic.pairs." + options.part) {}

std::uint64_t SyntheticPairs::drawn(std::int64_t index, Drawn what, std::uint64_t behind) const {
  return random_.bits(static_cast<std::uint64_t>(index) * drawn_for_a_row +
                      static_cast<std::uint64_t>(what) + behind);
}

std::int64_t SyntheticPairs::source_length(std::int64_t index) const {
  return length_of(drawn(index, Drawn::source_length), shape().length);
}

std::int64_t SyntheticPairs::num_targets(std::int64_t index) const {
  return length_of(drawn(index, Drawn::target_length), length());
}

std::uint64_t SyntheticPairs::phrase_length(std::int64_t index) const {
  return 2 + drawn(index, Drawn::phrase_length) % (longest_source_phrase - 1);
}

/// Any but the padding.
std::int64_t SyntheticPairs::token(std::int64_t index, std::uint64_t place_in_phrase) const {
  const std::uint64_t others = static_cast<std::uint64_t>(vocabulary_ - 1);
  const auto token =
      static_cast<std::int64_t>(drawn(index, Drawn::phrase, place_in_phrase) % others);
  return token < shape().padding ? token : token + 1;
}

void SyntheticPairs::read_source(std::int64_t index, std::uint32_t* tokens) const {
  const std::uint64_t n = phrase_length(index);
  const std::int64_t end = source_length(index);
  for (std::int64_t s = 0; s < shape().length; ++s) {
    const std::int64_t one =
        s < end ? token(index, static_cast<std::uint64_t>(s) % n) : shape().padding;
    tokens[s] = static_cast<std::uint32_t>(one);
  }
}

void SyntheticPairs::read_targets(std::int64_t index, std::int32_t* targets) const {
  const std::uint64_t n = phrase_length(index);
  const std::int64_t end = num_targets(index);
  for (std::int64_t t = 0; t < length(); ++t) {
    const std::uint64_t place = n - 1 - static_cast<std::uint64_t>(t) % n;
    targets[t] = t < end ? static_cast<std::int32_t>(token(index, place)) : no_target;
  }
}

}  // namespace pptrain
