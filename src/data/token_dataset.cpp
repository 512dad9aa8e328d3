#include "data/token_dataset.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.hpp"
#include "base/names.hpp"
#include "base/random.hpp"
#include "data/permutation.hpp"

namespace pptrain {

TokenDataset::TokenDataset(const std::vector<std::string>& paths, const DatasetOptions& options)
    : options_(options), first_token_{0} {
  if (paths.empty()) {
    throw_bad_input({options.source, "there is no data to read", "[data] names no file",
                     "write train = \"FILE\" with a text file or tokens of `pptrain tokenize`"});
  }
  for (const std::string& path : paths) {
    files_.emplace_back(path, options.source);
    files_.back().check_vocabulary(options.vocabulary_size, options.source);
    first_token_.push_back(first_token_.back() + files_.back().size());
  }
  const std::int64_t batch = options.global_batch_size * options.sequence_length;
  if (num_tokens() < batch + 1) {
    throw_bad_input({options.source, fmt::format("{}: {} tokens are too few", join(paths), num_tokens()),
                     fmt::format("one global batch takes {} x {} + 1 = {}", options.global_batch_size,
                                 options.sequence_length, batch + 1),
                     "name more text, or lower global_batch_size or sequence_length"});
  }
}

void TokenDataset::sample(std::int64_t step, std::int64_t index, std::uint32_t* tokens, std::uint32_t* targets) const {
  copy_sample(position_of(step, index), tokens, targets);
}

void TokenDataset::sample(std::int64_t step, std::int64_t index, const SampleSlot& slot) const {
  fill(position_of(step, index), slot);
}

void TokenDataset::window(std::int64_t index, const SampleSlot& slot) const {
  fill(index * options_.sequence_length, slot);
}

std::int64_t TokenDataset::position_of(std::int64_t step, std::int64_t index) const {
  PPTRAIN_ASSERT(step >= 0 && 0 <= index && index < options_.global_batch_size, "sample {} of step {}", index, step);
  return options_.shuffle ? shuffled_position(step, index) : ordered_position(step, index);
}

void TokenDataset::fill(std::int64_t position, const SampleSlot& slot) const {
  if (slot.tokens != nullptr) copy(position, options_.sequence_length, slot.tokens);
  if (slot.targets == nullptr) return;
  std::vector<std::uint32_t> targets(static_cast<std::size_t>(options_.sequence_length));
  copy(position + 1, options_.sequence_length, targets.data());
  std::copy(targets.begin(), targets.end(), slot.targets);
}

void TokenDataset::window(std::int64_t index, std::uint32_t* tokens, std::uint32_t* targets) const {
  PPTRAIN_ASSERT(0 <= index && index < num_windows(), "window {} of {}", index, num_windows());
  copy_sample(index * options_.sequence_length, tokens, targets);
}

std::int64_t TokenDataset::ordered_position(std::int64_t step, std::int64_t index) const {
  const std::int64_t batch = options_.global_batch_size * options_.sequence_length;
  const std::int64_t num_batches = (num_tokens() - 1) / batch;
  return step % num_batches * batch + index * options_.sequence_length;
}

std::int64_t TokenDataset::shuffled_position(std::int64_t step, std::int64_t index) const {
  const std::int64_t length = options_.sequence_length;
  // One window fewer than fit leaves room for any offset below T.
  const bool moves = num_windows() > 1;
  const std::int64_t windows = moves ? num_windows() - 1 : 1;
  const std::int64_t number = step * options_.global_batch_size + index;
  const std::int64_t epoch = number / windows;
  const std::string stream = fmt::format("data.epoch.{}", epoch);
  const Permutation order(static_cast<std::uint64_t>(windows), options_.seed, stream + ".order");
  const CounterRandom offsets(options_.seed, stream + ".offset");
  const auto offset = moves ? static_cast<std::int64_t>(offsets.bits(0) % static_cast<std::uint64_t>(length)) : 0;
  const auto window = static_cast<std::int64_t>(order(static_cast<std::uint64_t>(number % windows)));
  return offset + window * length;
}

void TokenDataset::copy_sample(std::int64_t position, std::uint32_t* tokens, std::uint32_t* targets) const {
  copy(position, options_.sequence_length, tokens);
  copy(position + 1, options_.sequence_length, targets);
}

void TokenDataset::copy(std::int64_t begin, std::int64_t count, std::uint32_t* out) const {
  auto file = std::upper_bound(first_token_.begin(), first_token_.end(), begin) - first_token_.begin() - 1;
  while (count > 0) {
    const auto i = static_cast<std::size_t>(file++);
    const std::int64_t part = std::min(count, first_token_[i + 1] - begin);
    files_[i].copy(begin - first_token_[i], part, out);
    begin += part;
    out += part;
    count -= part;
  }
}

}  // namespace pptrain
