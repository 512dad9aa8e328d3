#include "data/token_dataset.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.hpp"
#include "base/names.hpp"
#include "base/random.hpp"
#include "data/permutation.hpp"

namespace pptrain {

TokenDataset::TokenDataset(const std::vector<std::string>& paths, const DatasetOptions& options)
    : options_(options),
      stream_(paths, options.vocabulary_size, options.end_of_document, options.source) {
  if (options.needs_documents) stream_.check_documents(options.source);
  const std::int64_t batch = options.global_batch_size * options.sequence_length;
  if (num_tokens() < batch + 1) {
    throw_bad_input({options.source,
                     fmt::format("{}: {} tokens are too few", join(paths), num_tokens()),
                     fmt::format("{} takes {} x {} + 1 = {}",
                                 options.global_batch_size == 1 ? "one sample" : "one global batch",
                                 options.global_batch_size, options.sequence_length, batch + 1),
                     "name more text, or lower global_batch_size or sequence_length"});
  }
}

void TokenDataset::sample(std::int64_t step, std::int64_t index, std::uint32_t* tokens,
                          std::uint32_t* targets) const {
  copy_sample(position_of(step, index), tokens, targets);
}

void TokenDataset::sample(std::int64_t step, std::int64_t index, const SampleSlot& slot) const {
  fill(position_of(step, index), slot);
}

void TokenDataset::numbered(std::int64_t number, const SampleSlot& slot) const {
  fill(options_.shuffle ? shuffled_position(number)
                        : number % num_windows() * options_.sequence_length,
       slot);
}

void TokenDataset::window(std::int64_t index, const SampleSlot& slot) const {
  fill(index * options_.sequence_length, slot);
}

std::int64_t TokenDataset::position_of(std::int64_t step, std::int64_t index) const {
  PPTRAIN_ASSERT(step >= 0 && 0 <= index && index < options_.global_batch_size,
                 "sample {} of step {}", index, step);
  return options_.shuffle ? shuffled_position(step * options_.global_batch_size + index)
                          : ordered_position(step, index);
}

void TokenDataset::fill(std::int64_t position, const SampleSlot& slot) const {
  const std::int64_t length = options_.sequence_length;
  if (slot.tokens != nullptr) stream_.copy(position, length, slot.tokens);
  if (slot.document_begin != nullptr)
    stream_.document_begins(position, length, slot.document_begin);
  if (slot.targets == nullptr) return;
  std::vector<std::uint32_t> targets(static_cast<std::size_t>(length));
  stream_.copy(position + 1, length, targets.data());
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

std::int64_t TokenDataset::shuffled_position(std::int64_t number) const {
  const std::int64_t length = options_.sequence_length;
  // One window fewer than fit leaves room for any offset below T.
  const bool moves = num_windows() > 1;
  const std::int64_t windows = moves ? num_windows() - 1 : 1;
  const std::int64_t epoch = number / windows;
  const std::string stream = fmt::format("{}.epoch.{}", options_.random_stream, epoch);
  const Permutation order(static_cast<std::uint64_t>(windows), options_.seed, stream + ".order");
  const CounterRandom offsets(options_.seed, stream + ".offset");
  const auto offset =
      moves ? static_cast<std::int64_t>(offsets.bits(0) % static_cast<std::uint64_t>(length)) : 0;
  const auto window =
      static_cast<std::int64_t>(order(static_cast<std::uint64_t>(number % windows)));
  return offset + window * length;
}

void TokenDataset::copy_sample(std::int64_t position, std::uint32_t* tokens,
                               std::uint32_t* targets) const {
  stream_.copy(position, options_.sequence_length, tokens);
  stream_.copy(position + 1, options_.sequence_length, targets);
}

}  // namespace pptrain
