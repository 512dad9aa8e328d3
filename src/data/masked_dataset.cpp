#include "data/masked_dataset.hpp"

#include <algorithm>
#include <utility>

namespace pptrain {
namespace {

// Numbers that are drawn for a position: whether it has a label, and what is shown there.
constexpr std::uint64_t draws_per_position = 2;

std::uint64_t index_of(std::int64_t sample, std::int64_t length, std::size_t position) {
  return (static_cast<std::uint64_t>(sample * length) + position) * draws_per_position;
}

}  // namespace

MaskedDataset::MaskedDataset(std::unique_ptr<Dataset> text, const MaskOptions& options)
    : text_(std::move(text)),
      options_(options),
      of_samples_(options.seed, "data.mask"),
      of_windows_(options.seed, "data.mask.windows") {}

void MaskedDataset::sample(std::int64_t step, std::int64_t index, const SampleSlot& slot) const {
  const auto read = [&](const SampleSlot& text) { text_->sample(step, index, text); };
  hide(text_of(read, slot), {of_samples_, step * options_.global_batch_size + index}, slot);
}

void MaskedDataset::window(std::int64_t index, const SampleSlot& slot) const {
  hide(text_of([&](const SampleSlot& text) { text_->window(index, text); }, slot),
       {of_windows_, index}, slot);
}

MaskedDataset::Text MaskedDataset::text_of(const std::function<void(const SampleSlot&)>& read,
                                           const SampleSlot& slot) const {
  Text text = {std::vector<std::uint32_t>(static_cast<std::size_t>(options_.length)),
               static_cast<std::int32_t>(options_.length)};
  SampleSlot unmasked;
  unmasked.tokens = text.tokens.data();
  unmasked.token_types = slot.token_types;
  unmasked.input_length = &text.length;
  if (slot.token_types != nullptr) std::fill_n(slot.token_types, text.tokens.size(), 0U);
  read(unmasked);
  if (slot.input_length != nullptr) *slot.input_length = text.length;
  return text;
}

void MaskedDataset::hide(const Text& text, const Draws& draws, const SampleSlot& slot) const {
  const std::vector<std::uint32_t>& tokens = text.tokens;
  const std::vector<std::size_t> drawn = drawn_positions(text, draws);
  if (slot.num_targets != nullptr) *slot.num_targets = static_cast<std::int64_t>(drawn.size());
  if (slot.tokens != nullptr) std::copy(tokens.begin(), tokens.end(), slot.tokens);
  if (slot.targets != nullptr) std::fill_n(slot.targets, tokens.size(), no_target);
  for (const std::size_t position : drawn) {
    const std::uint64_t bits =
        draws.random.bits(index_of(draws.sample, options_.length, position) + 1);
    if (slot.tokens != nullptr) slot.tokens[position] = shown(tokens[position], bits);
    if (slot.targets != nullptr)
      slot.targets[position] = static_cast<std::int32_t>(tokens[position]);
  }
}

std::vector<std::size_t> MaskedDataset::drawn_positions(const Text& text,
                                                        const Draws& draws) const {
  const auto length = static_cast<std::size_t>(text.length);
  std::vector<std::size_t> drawn;
  std::pair<double, std::size_t> nearest = {1.0, length};  // to being drawn
  for (std::size_t position = 0; position < length; ++position) {
    if (!may_be_hidden(text.tokens[position])) continue;
    const double number = draws.random.uniform(index_of(draws.sample, options_.length, position));
    if (number < options_.probability) drawn.push_back(position);
    nearest = std::min(nearest, {number, position});
  }
  if (drawn.empty() && nearest.second < length) drawn.push_back(nearest.second);
  return drawn;
}

bool MaskedDataset::may_be_hidden(std::uint32_t token) const {
  const std::vector<std::int64_t>& unmasked = options_.unmasked_tokens;
  return token != options_.mask_token &&
         std::find(unmasked.begin(), unmasked.end(), token) == unmasked.end();
}

std::uint32_t MaskedDataset::shown(std::uint32_t token, std::uint64_t bits) const {
  const std::uint64_t tenth = bits % 10;
  if (tenth < 8) return options_.mask_token;
  if (tenth == 8) return token;
  return static_cast<std::uint32_t>(bits / 10 % static_cast<std::uint64_t>(options_.vocabulary));
}

}  // namespace pptrain
