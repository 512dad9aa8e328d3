#include "data/feature_dataset.hpp"

#include <fmt/format.h>

#include "base/error.hpp"
#include "data/permutation.hpp"

namespace pptrain {

void FeatureDataset::sample(std::int64_t step, std::int64_t index, const SampleSlot& slot) const {
  const std::int64_t batch = options_.global_batch_size;
  const std::int64_t rows = table_->num_rows();
  PPTRAIN_ASSERT(step >= 0 && 0 <= index && index < batch, "sample {} of step {}", index, step);
  const std::int64_t number = step * batch + index;
  if (!options_.shuffle) {
    return table_->training_row(
        options_.wraps ? number % rows : step % (rows / batch) * batch + index, number, slot);
  }
  const Permutation order(static_cast<std::uint64_t>(rows), options_.seed,
                          fmt::format("data.epoch.{}.order", number / rows));
  table_->training_row(static_cast<std::int64_t>(order(static_cast<std::uint64_t>(number % rows))),
                       number, slot);
}

}  // namespace pptrain
