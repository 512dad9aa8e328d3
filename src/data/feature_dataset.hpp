#pragma once

#include <cstdint>
#include <memory>

#include "data/dataset.hpp"

namespace pptrain {

/// Rows that an evaluation takes of a table whose rows are made as they are needed.
inline constexpr std::int64_t synthetic_held_back = 512;

/// Rows with what is to be predicted of each: numbers with a class, or tokens with labels.
class FeatureTable {
 public:
  virtual ~FeatureTable() = default;
  /// Rows of the table; `row` takes 0 to this - 1.
  virtual std::int64_t num_rows() const = 0;
  /// How many of the first rows an evaluation takes.
  virtual std::int64_t num_held_back() const { return num_rows(); }
  /// Writes what the slot asks for of one row: its features, its class.
  virtual void row(std::int64_t index, const SampleSlot& slot) const = 0;
  /// Whether the tokens of a row may end in padding.
  virtual bool has_padding() const { return false; }
  /// The file that rows are tokens of; none where they are numbers or made up.
  virtual std::vector<TokenOrigin> origins() const { return {}; }
  /// Writes what the slot asks for of one row as sample `number` of the training, which may differ
  /// from the row as it is held back.
  virtual void training_row(std::int64_t index, std::int64_t /*number*/,
                            const SampleSlot& slot) const {
    row(index, slot);
  }
};

struct FeatureOptions {
  std::int64_t global_batch_size = 1;  ///< B, samples per step
  bool shuffle = true;
  std::uint64_t seed = 0;
  bool wraps = false;  ///< whether a batch in order runs over the end of the table
};

/// Samples that are rows of a table: in order, sample i of step t is row (t mod n) B + i, n the
/// number of whole batches, or row (t B + i) mod N of N where batches run over the end; shuffled,
/// samples t B + i take each row once per epoch, in an order of its own.
class FeatureDataset final : public Dataset {
 public:
  FeatureDataset(std::unique_ptr<FeatureTable> table, const FeatureOptions& options)
      : table_(std::move(table)), options_(options) {}

  void sample(std::int64_t step, std::int64_t index, const SampleSlot& slot) const override;
  std::int64_t num_windows() const override { return table_->num_rows(); }
  std::int64_t num_held_back() const override { return table_->num_held_back(); }
  void window(std::int64_t index, const SampleSlot& slot) const override {
    table_->row(index, slot);
  }
  bool has_padding() const override { return table_->has_padding(); }
  std::vector<TokenOrigin> origins() const override { return table_->origins(); }

 private:
  std::unique_ptr<FeatureTable> table_;
  FeatureOptions options_;
};

}  // namespace pptrain
