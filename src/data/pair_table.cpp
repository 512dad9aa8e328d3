#include "data/pair_table.hpp"

#include <vector>

namespace pptrain {
namespace {

/// The token that stands at a place where `target` is predicted, as the place behind reads it.
std::uint32_t as_token(std::int32_t target, const SourceShape& shape) {
  return static_cast<std::uint32_t>(target < 0 ? shape.padding : target);
}

}  // namespace

void PairTable::row(std::int64_t index, const SampleSlot& slot) const {
  if (slot.tokens != nullptr) read_source(index, slot.tokens);
  if (slot.input_length != nullptr)
    *slot.input_length = static_cast<std::int32_t>(source_length(index));
  if (slot.num_targets != nullptr) *slot.num_targets = num_targets(index);
  if (slot.targets != nullptr) read_targets(index, slot.targets);
  if (slot.decoder_tokens == nullptr) return;
  std::vector<std::int32_t> targets(static_cast<std::size_t>(length_));
  read_targets(index, targets.data());
  slot.decoder_tokens[0] = static_cast<std::uint32_t>(shape_.first_token);
  for (std::size_t t = 1; t < targets.size(); ++t)
    slot.decoder_tokens[t] = as_token(targets[t - 1], shape_);
}

}  // namespace pptrain
