#include "runtime/checkpoint/data_fingerprint.hpp"

#include <fmt/format.h>
#include <xxhash.h>

#include <algorithm>
#include <limits>
#include <vector>

namespace pptrain {
namespace {

constexpr std::int64_t most_windows = 64;

template <class T>
std::uint64_t digest(const std::vector<T>& values, std::uint64_t before) {
  return XXH3_64bits_withSeed(values.data(), values.size() * sizeof(T), before);
}

/// Tokens that fit 16 bits count as such, however wide they are stored: checkpoints say so since
/// there were no others.
std::uint64_t digest_tokens(const std::vector<std::uint32_t>& tokens, std::uint64_t before) {
  const auto is_wide = [](std::uint32_t token) {
    return token > std::numeric_limits<std::uint16_t>::max();
  };
  if (std::any_of(tokens.begin(), tokens.end(), is_wide)) return digest(tokens, before);
  return digest(std::vector<std::uint16_t>(tokens.begin(), tokens.end()), before);
}

}  // namespace

std::string data_fingerprint(const Dataset& data, const Model& model) {
  const std::int64_t there = data.num_windows();
  const std::int64_t looked_at = std::min(there, most_windows);
  const auto rows = static_cast<std::size_t>(model.sample.rows);
  std::vector<std::uint32_t> tokens(
      model.sample.tokens() ? static_cast<std::size_t>(model.sample.input_tokens()) : 0);
  std::vector<std::uint32_t> types(model.sample.token_types > 0 ? rows : 0);
  std::vector<std::int32_t> targets(model.sample.has_drawing() ? 0 : rows);
  std::vector<float> drawing(static_cast<std::size_t>(model.sample.drawing.pixels()));
  std::vector<float> features(static_cast<std::size_t>(model.sample.features));
  std::uint64_t sum = 0;
  for (std::int64_t i = 0; i < looked_at; ++i) {
    const std::int64_t window = looked_at == 1 ? 0 : i * (there - 1) / (looked_at - 1);
    SampleSlot slot;
    slot.tokens = tokens.empty() ? nullptr : tokens.data();
    slot.token_types = types.empty() ? nullptr : types.data();
    slot.targets = targets.empty() ? nullptr : targets.data();
    slot.drawing = drawing.empty() ? nullptr : drawing.data();
    slot.features = features.empty() ? nullptr : features.data();
    data.window(window, slot);
    sum = digest(targets, digest_tokens(tokens, sum));
    sum = digest(features, sum);
    if (!types.empty()) sum = digest(types, sum);
    if (!drawing.empty()) sum = digest(drawing, sum);
  }
  return fmt::format("{} samples, xxh3 {:016x}", there, sum);
}

}  // namespace pptrain
