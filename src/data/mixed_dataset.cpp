#include "data/mixed_dataset.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.hpp"

namespace pptrain {
namespace {

std::vector<double> weights_of(const std::vector<MixSource>& sources) {
  std::vector<double> weights;
  for (const MixSource& source : sources) weights.push_back(source.weight);
  return weights;
}

}  // namespace

MixedDataset::MixedDataset(const std::vector<MixSource>& sources, const DatasetOptions& options)
    : global_batch_size_(options.global_batch_size), mixture_(weights_of(sources), options.seed) {
  for (const MixSource& source : sources) {
    DatasetOptions of_source = options;
    of_source.global_batch_size = 1;
    of_source.source = source.source;
    // Sources of equal length would otherwise be taken in equal orders.
    of_source.random_stream = fmt::format("data.mix.{}", sources_.size());
    sources_.push_back(std::make_unique<TokenDataset>(source.paths, of_source));
    first_window_.push_back(first_window_.back() + sources_.back()->num_windows());
  }
}

void MixedDataset::sample(std::int64_t step, std::int64_t index, const SampleSlot& slot) const {
  PPTRAIN_ASSERT(step >= 0 && 0 <= index && index < global_batch_size_, "sample {} of step {}",
                 index, step);
  const Mixture::Draw draw = mixture_.at(step * global_batch_size_ + index);
  sources_[draw.source]->numbered(draw.number, slot);
}

void MixedDataset::window(std::int64_t index, const SampleSlot& slot) const {
  PPTRAIN_ASSERT(0 <= index && index < num_windows(), "window {} of {}", index, num_windows());
  const auto source = std::upper_bound(first_window_.begin(), first_window_.end(), index) -
                      first_window_.begin() - 1;
  const auto i = static_cast<std::size_t>(source);
  sources_[i]->window(index - first_window_[i], slot);
}

std::vector<TokenOrigin> MixedDataset::origins() const {
  std::vector<TokenOrigin> all;
  for (const auto& source : sources_) {
    const std::vector<TokenOrigin> of_source = source->origins();
    all.insert(all.end(), of_source.begin(), of_source.end());
  }
  return all;
}

}  // namespace pptrain
