#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "model/axes.hpp"
#include "model/expert_operators.hpp"
#include "model/forms.hpp"
#include "model/map_operators.hpp"

namespace pptrain {

/// A tensor between operators of a layer, by its place in `Layer::values`.
using ValueIndex = std::size_t;

/// Element type of a tensor: fp32, as everything on the residual stream, or the type of the
/// products (`precision`).
enum class Element { fp32, compute };

/// What stands on an edge between two operators: (rows, columns) per sample, and how a
/// tensor-parallel group has it.
///
/// `divided` says along which axis its columns are divided over the group; along experts its rows
/// are, each member has those that go to its own. Where it is not divided, every member has all of
/// it, and gradients of it are fp32, since the members' are added up.
struct Value {
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  Element element = Element::fp32;
  AxisDivision divided;

  /// Whether every member has all of the value.
  bool is_whole() const { return divided.axis == ShardAxis::none; }
  /// Whether the rows that a member has are whole, be they only those of its experts.
  bool has_all_columns() const { return is_whole() || divided.axis == ShardAxis::experts; }
};

/// How linear positions become angles: theta^(-2i / rotated) of position 1, changed by a scaling.
struct RotaryForm {
  /// Ways to scale the frequencies: `none`; `linear` divides all by `factor`; `llama3` divides
  /// those of long wavelengths and joins them smoothly with the short ones (Dubey et al., "The
  /// Llama 3 herd of models", 2024; transformers' `rope_type`); `yarn` divides those of pairs
  /// behind a ramp and multiplies what turns by `attention_factor` (Peng et al., "YaRN", 2023).
  enum class Scaling { none, linear, llama3, yarn };

  double theta = 10000.0;
  std::int64_t rotated = 0;  ///< columns of a head that turn: pairs (i, i + rotated / 2)
  Scaling scaling = Scaling::none;
  double factor = 1.0;
  double low_frequency_factor = 1.0;
  double high_frequency_factor = 4.0;
  double original_length = 8192.0;
  // The ramp of `yarn` lies between the pairs that turn so often within the original length, or the
  // whole pairs around.
  double fast_turns = 32.0;
  double slow_turns = 1.0;
  bool whole_pairs = true;
  double attention_factor = 1.0;  ///< sines and cosines are multiplied by it

  bool operator==(const RotaryForm&) const = default;
};

/// Angle per position of pair i < rotated / 2.
double rotary_frequency(const RotaryForm& form, std::int64_t i);

/// What depends on how far a key is from its query (Raffel et al., "Exploring the limits of
/// transfer learning with a unified text-to-text transformer", 2020, section 2.1): keys at
/// distances of one bucket are treated alike. The first half of the buckets are one distance each,
/// the others grow logarithmically up to `largest`. With `both_sides` half of them all are for keys
/// behind the query; without, such keys are in the bucket of distance 0.
struct DistanceBuckets {
  std::int64_t count = 0;
  std::int64_t largest = 128;
  bool both_sides = true;

  bool operator==(const DistanceBuckets&) const = default;
};

/// The bucket of a key that stands `distance` positions behind the query, before it where that is
/// negative.
std::int64_t bucket_of(const DistanceBuckets& buckets, std::int64_t distance);

/// The smallest things with a name; those of experts and of feature maps have files of their own.
/// `parameters` of an operator are its tensors in the order said here.
namespace op {

/// Rows of a table by token; with `positions` those of a second table by place are added.
/// Parameters: the table (vocabulary, columns), the table of places (sequence length +
/// first_position, columns). The result is a partial sum over a group that divides the vocabulary.
/// With `token_types` rows are taken by the token's type, of a table that every member has (Devlin
/// et al., BERT, 2019); with `decoder` by the tokens that a decoder reads.
struct Embedding {
  bool positions = false;
  std::int64_t first_position = 0;  ///< row of the second table that the first place takes
  bool token_types = false;
  bool decoder = false;
};

/// x * factor, in place.
struct Scaling {
  double factor = 1.0;
};

/// Normalisation of every `width` columns. Parameters: gain (width) and, for a layer norm, offset
/// (width).
struct Norm {
  NormForm form;
  std::int64_t width = 0;
};

/// x W^T + b. Parameters: the weight (out, in) and, with `bias`, b (out). By columns the result is
/// divided, by rows it is a partial sum, to which the first member adds the bias (Shoeybi et al.,
/// Megatron-LM, 2019, section 3).
struct Linear {
  WeightDivision division = WeightDivision::none;
  bool bias = false;
  bool padded = false;  ///< rows of the result begin where a device's matrix units like it
  bool full = false;    ///< computed in fp32 whatever the type of products
};

/// Turns queries or keys by their place, in place (Su et al., RoFormer, 2021); of a `packed` value
/// that has queries, keys and values side by side the first two thirds.
struct Rotary {
  RotaryForm form;
  std::int64_t head_size = 0;
  bool packed = false;
};

/// Self-attention, causal or of every position to all; or attention of every position to all rows
/// of something else, which k and v are made from. Where it is not causal, padding of the input is
/// not seen. Inputs: q, k and v; or one value that holds all three side by side. `key_heads` divide
/// `heads`: query head h attends to key head h * key_heads / heads (Ainslie et al., "GQA", 2023).
/// Parameters: with `buckets` what is added to the scaled scores, (heads, buckets), divided by
/// heads.
struct SelfAttention {
  std::int64_t heads = 0;
  std::int64_t key_heads = 0;
  std::int64_t head_size = 0;
  double scale = 1.0;
  std::int64_t window = 0;  ///< positions that are seen, the own one included; 0: all earlier ones
  bool causal = true;  ///< whether positions behind the own one are hidden; without that there is
                       ///< no window
  DistanceBuckets buckets = {};  ///< of the bias by distance; none: there is no bias
  std::int64_t span = 0;  ///< rows that see each other: the first `span` of a sample, the next
                          ///< ones; 0: all
  double cap = 0.0;  ///< scaled scores s become cap tanh(s / cap), without a bias; 0: they stay as
                     ///< they are

  /// Query heads that share a key head.
  std::int64_t group() const { return heads / key_heads; }
};

struct Activate {
  Activation activation = Activation::gelu_tanh;
};

/// f(first input) * second input (Shazeer, "GLU variants improve transformer", 2020).
struct Gate {
  Activation activation = Activation::silu;
};

/// Sum of two values; with `bias` (parameter) of it too.
struct Addition {
  bool bias = false;
};

/// Conversion: a whole value goes into operators that a group divides. Nothing forward; backward
/// the members' gradients are summed. It works in place; or its result is the same value under
/// another name, where operators that are not divided read the value too: what they give of its
/// gradient is whole already.
struct Enter {};

/// Conversion: partial sums of the members become their sum, in place. Nothing backward.
struct Sum {};

/// The numbers of the samples themselves. Nobody asks for their gradient.
struct Features {};

/// (a learned row, rows of the input) + places, in every sample (Dosovitskiy et al., ViT, 2021).
/// Parameters: the row (1, columns), the places (rows of the result, columns).
struct ClassToken {};

/// Conversion of the input to another element type. A gradient keeps the narrower one.
struct Conversion {};

/// Conversion: the members gather each other's columns. Backward each takes its own.
struct Gather {};

/// Conversion: each member takes its own columns of a whole value. Backward the members gather
/// them.
struct Take {};

/// Part of every sample of the input, from its element `first` on: a port of several, or the first
/// row. Nothing but operators of this kind, with other parts, reads the input.
struct Split {
  std::int64_t first = 0;
};

/// The inputs one behind the other, sample by sample, as ports of the next layer.
struct Join {};

/// Elements become 0 with probability `rate`, and the others 1 / (1 - rate) times themselves, in
/// place; in training alone. Which ones follows from `stream`, the job's seed, and the number of
/// sample and element.
struct Dropout {
  double rate = 0.0;
  std::uint64_t stream = 0;
};

/// Softmax and cross-entropy of logits, whole or with their classes divided over a group. With a
/// cap above 0 a logit z becomes cap tanh(z / cap) before (Gemma team, "Gemma 2", 2024).
struct Loss {
  double cap = 0.0;
};

}  // namespace op

/// An operator with the values it reads and writes, and its parameters by their place in
/// `Layer::parameters`. What works in place writes the value that it reads.
struct Operator {
  using Kind =
      std::variant<op::Embedding, op::Scaling, op::Norm, op::Linear, op::Rotary, op::SelfAttention,
                   op::Activate, op::Gate, op::Addition, op::Enter, op::Sum, op::Features,
                   op::Conversion, op::Gather, op::Take, op::Split, op::Join, op::Loss,
                   op::ClassToken, op::Router, op::Dispatch, op::ExpertLinear, op::WeightedGate,
                   op::Combine, op::ExpertBalance, op::Dropout, op::Convolution, op::BatchNorm,
                   op::Pool, op::Flatten, op::Reshape, op::Places, op::Enlarge, op::Tiles,
                   op::SquareLoss, op::SendChoices, op::SendRows, op::ReturnRows>;
  Kind kind;
  std::vector<ValueIndex> inputs;
  std::optional<ValueIndex> output;  ///< nothing: the loss, or a part of it
  std::vector<std::size_t> parameters;

  template <class T>
  const T* as() const {
    return std::get_if<T>(&kind);
  }
  /// Whether the first input is the result too, written over or left as it is.
  bool in_place() const { return output && !inputs.empty() && inputs.front() == *output; }
};

/// Calls that fit the kind of an operator: `std::visit(overloaded{[](const op::Norm&) {...}, ...},
/// op.kind)`.
template <class... Ts>
struct overloaded : Ts... {
  using Ts::operator()...;
};
template <class... Ts>
overloaded(Ts...) -> overloaded<Ts...>;

}  // namespace pptrain
