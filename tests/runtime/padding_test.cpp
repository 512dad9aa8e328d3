// Padding behind the tokens of a sample, which nothing attends to: training is that of the samples
// without it.
#include <algorithm>
#include <utility>

#include "reference.hpp"
#include "support/catch.hpp"

using namespace pptrain;
using namespace pptrain::test;

namespace {

/// The samples of a dataset with more padding behind their tokens.
class PaddedSamples final : public Dataset {
 public:
  PaddedSamples(std::shared_ptr<const Dataset> data, const SampleShape& shape, std::int64_t padded)
      : data_(std::move(data)), shape_(shape), more_(padded - shape.input_tokens()) {}

  void sample(std::int64_t step, std::int64_t index, const SampleSlot& slot) const override {
    read(slot, [&](const SampleSlot& part) { data_->sample(step, index, part); });
  }
  std::int64_t num_windows() const override { return data_->num_windows(); }
  void window(std::int64_t index, const SampleSlot& slot) const override {
    read(slot, [&](const SampleSlot& part) { data_->window(index, part); });
  }
  bool has_padding() const override { return true; }

 private:
  template <class Read>
  void read(const SampleSlot& slot, const Read& read_unpadded) const {
    const std::int64_t length = shape_.input_tokens();
    read_unpadded(slot);
    if (slot.tokens != nullptr)
      std::fill_n(slot.tokens + length, more_, static_cast<std::uint32_t>(shape_.source.padding));
    if (shape_.has_source()) return;
    if (slot.token_types != nullptr) std::fill_n(slot.token_types + length, more_, 1U);
    if (slot.targets != nullptr) std::fill_n(slot.targets + length, more_, no_target);
  }

  std::shared_ptr<const Dataset> data_;
  SampleShape shape_;
  std::int64_t more_;
};

/// Samples of `padded` tokens.
Reference padded_reference(const std::string& name, std::int64_t padded) {
  Reference reference(name);
  const SampleShape shape =
      build_model(reference.config.model, reference.config.training, "test").sample;
  reference.labelled = std::make_shared<PaddedSamples>(reference.labelled, shape, padded);
  TrainingConfig& training = reference.config.training;
  if (shape.has_source()) {
    training.source_length = padded;
  } else {
    training.sequence_length = padded;
  }
  return reference;
}

void check(const Reference& reference, const Plan& plan) {
  constexpr int steps = 20;
  const Curve curve = train_reference(MPI_COMM_WORLD, reference, plan, steps);
  REQUIRE(curve.losses.size() == steps);
  check_curve(curve, reference);
}

}  // namespace

TEST_CASE("more padding changes no loss", "[np1]") {
  const Reference pairs = padded_reference("t5-tied", 53), text = padded_reference("bert", 40);
  check(pairs, pairs.plan(1, 1, 1, 4, "1f1b"));
  check(text, text.plan(1, 1, 1, 4, "1f1b"));
}

TEST_CASE("more padding changes no loss on a grid", "[np4]") {
  const Reference pairs = padded_reference("t5-tied", 22), text = padded_reference("bert", 37);
  check(pairs, pairs.plan(2, 1, 2, 2, "zb-h1"));
  check(text, text.plan(2, 1, 2, 2, "zb-h1"));
  check(text, text.plan(2, 2, 1, 2, "interleaved-1f1b", 2));
}
