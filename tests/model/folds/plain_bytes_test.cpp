#include "model/folds/plain_bytes.hpp"

#include "config/read.hpp"
#include "model/build/check.hpp"
#include "support/catch.hpp"

namespace pptrain {
namespace {

constexpr double rows = 16.0;
constexpr double columns = 32.0;
constexpr double inner = 64.0;
constexpr double vocabulary = 256.0;

const char* const job = R"([model]
vocabulary_size = 256
[[model.layer]]
kind = "embedding"
columns = 32
[[model.layer]]
heads = 4
gated = true
feed_forward = 64
[[model.layer]]
kind = "output"
[training]
sequence_length = 16
[cluster]
file = "c.toml"
[profile]
analytic = true
)";

/// What a framework keeps of a layer of the model, the block or the output.
PlainBytes bytes_of(std::size_t layer, const PlainKernels& kernels) {
  return plain_bytes(build_model_of(parse_config(job, "job.toml", "")).layers.at(layer), kernels);
}

TEST_CASE("what frameworks without fused kernels keep more of a block", "[plain_bytes]") {
  const PlainBytes fused = bytes_of(1, {});
  const PlainBytes eager = bytes_of(1, {.keeps_gates = true});
  CHECK(eager.divided - fused.divided == 2.0 * rows * inner);
  CHECK(eager.whole == fused.whole);
  const PlainBytes copied = bytes_of(1, {.copies_attention = true});
  CHECK(copied.divided - fused.divided == 2.0 * rows * columns);
  CHECK(copied.whole == fused.whole);
}

TEST_CASE("the loss is computed of a number for each position and word", "[plain_bytes]") {
  CHECK(bytes_of(2, {}).logits == rows * vocabulary);
  CHECK(bytes_of(1, {}).logits == 0.0);
}

}  // namespace
}  // namespace pptrain
