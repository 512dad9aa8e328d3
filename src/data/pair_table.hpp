#pragma once

#include "data/feature_dataset.hpp"
#include "model/model.hpp"

namespace pptrain {

/// Rows of a source and the tokens that are predicted from it. What follows from these is made
/// here: what the decoder reads, which are the targets one place later, behind a first token, with
/// padding where there is no target; and how long sources are without their padding.
class PairTable : public FeatureTable {
 public:
  /// Writes what the slot asks for of one row: source and its length, decoder's tokens, targets and
  /// their number.
  void row(std::int64_t index, const SampleSlot& slot) const final;
  /// Always true: sources may end in padding.
  bool has_padding() const final { return true; }

 protected:
  /// `length`: targets of a row.
  PairTable(const SourceShape& shape, std::int64_t length) : shape_(shape), length_(length) {}

  const SourceShape& shape() const { return shape_; }
  std::int64_t length() const { return length_; }
  /// Writes the tokens of a row's source, padding included, or its targets.
  virtual void read_source(std::int64_t index, std::uint32_t* tokens) const = 0;
  virtual void read_targets(std::int64_t index, std::int32_t* targets) const = 0;
  /// Positions of a row's source before its padding, at least one.
  virtual std::int64_t source_length(std::int64_t index) const = 0;
  /// Positions of a row that have a target.
  virtual std::int64_t num_targets(std::int64_t index) const = 0;

 private:
  SourceShape shape_;
  std::int64_t length_;
};

}  // namespace pptrain
