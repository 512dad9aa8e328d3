#include "data/synthetic_masked_text.hpp"

namespace pptrain {
namespace {

constexpr std::uint64_t hidden_percent = 15;
constexpr std::uint64_t longest_phrase = 4;

}  // namespace

SyntheticMaskedText::SyntheticMaskedText(const SyntheticTextOptions& options)
    : options_(options),
      phrases_(options.seed, "synthetic.phrases." + options.part),
      hidden_(options.seed, "synthetic.hidden." + options.part) {}

bool SyntheticMaskedText::is_hidden(std::int64_t index, std::int64_t position) const {
  if (position == index % options_.length) return true;
  return hidden_.bits(static_cast<std::uint64_t>(index * options_.length + position)) % 100 <
         hidden_percent;
}

std::int64_t SyntheticMaskedText::token(std::int64_t index, std::int64_t position) const {
  const auto first = static_cast<std::uint64_t>(index) * (longest_phrase + 1);
  const std::uint64_t length = 2 + phrases_.bits(first) % (longest_phrase - 1);
  const std::uint64_t drawn =
      phrases_.bits(first + 1 + static_cast<std::uint64_t>(position) % length);
  return 1 + static_cast<std::int64_t>(drawn % static_cast<std::uint64_t>(options_.vocabulary - 1));
}

void SyntheticMaskedText::row(std::int64_t index, const SampleSlot& slot) const {
  std::int64_t num_hidden = 0;
  for (std::int64_t t = 0; t < options_.length; ++t) {
    const bool hidden = is_hidden(index, t);
    if (hidden) ++num_hidden;
    if (slot.tokens != nullptr)
      slot.tokens[t] = hidden ? 0 : static_cast<std::uint32_t>(token(index, t));
    if (slot.token_types != nullptr)
      slot.token_types[t] = static_cast<std::uint32_t>(t * options_.token_types / options_.length);
    if (slot.targets != nullptr)
      slot.targets[t] = hidden ? static_cast<std::int32_t>(token(index, t)) : no_target;
  }
  if (slot.num_targets != nullptr) *slot.num_targets = num_hidden;
}

}  // namespace pptrain
