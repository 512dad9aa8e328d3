#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "model/axes.hpp"
#include "model/forms.hpp"

namespace pptrain {

/// A tensor between operators of a layer, by its place in `Layer::values`.
using ValueIndex = std::size_t;

/// Element type of a tensor: fp32, as everything on the residual stream, or the type of the products (`precision`).
enum class Element { fp32, compute };

/// What stands on an edge between two operators: (rows, columns) per sample, and how a tensor-parallel group has it.
///
/// `divided` says along which axis its columns are divided over the group; along experts its rows are, each member has
/// those that go to its own. Where it is not divided, every member has all of it, and gradients of it are fp32, since
/// the members' are added up.
struct Value {
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  Element element = Element::fp32;
  AxisDivision divided;

  bool is_whole() const { return divided.axis == ShardAxis::none; }
  bool has_all_columns() const { return is_whole() || divided.axis == ShardAxis::experts; }
};

/// How rows go to experts: each to `chosen` of them. Where experts are `divided` a member has some of them whole, and
/// of what is dispatched the rows that go to these; otherwise it has columns of every expert.
struct ExpertForm {
  std::int64_t experts = 0;
  std::int64_t chosen = 0;
  bool divided = false;

  bool operator==(const ExpertForm&) const = default;
};

/// How linear positions become angles: theta^(-2i / rotated) of position 1, changed by a scaling.
struct RotaryForm {
  /// None; `linear` divides all frequencies by `factor`; `llama3` divides those of long wavelengths and joins them
  /// smoothly with the short ones (Dubey et al., "The Llama 3 herd of models", 2024; transformers' `rope_type`).
  enum class Scaling { none, linear, llama3 };

  double theta = 10000.0;
  std::int64_t rotated = 0;  ///< columns of a head that turn: pairs (i, i + rotated / 2)
  Scaling scaling = Scaling::none;
  double factor = 1.0;
  double low_frequency_factor = 1.0;
  double high_frequency_factor = 4.0;
  double original_length = 8192.0;

  bool operator==(const RotaryForm&) const = default;
};

/// Angle per position of pair i < rotated / 2.
double rotary_frequency(const RotaryForm& form, std::int64_t i);

/// What depends on how far a key is from its query (Raffel et al., "Exploring the limits of transfer learning with a
/// unified text-to-text transformer", 2020, section 2.1): keys at distances of one bucket are treated alike. The first
/// half of the buckets are one distance each, the others grow logarithmically up to `largest`. With `both_sides` half
/// of them all are for keys behind the query; without, such keys are in the bucket of distance 0.
struct DistanceBuckets {
  std::int64_t count = 0;
  std::int64_t largest = 128;
  bool both_sides = true;

  bool operator==(const DistanceBuckets&) const = default;
};

/// The bucket of a key that stands `distance` positions behind the query, before it where that is negative.
std::int64_t bucket_of(const DistanceBuckets& buckets, std::int64_t distance);

/// The smallest things with a name. `parameters` of an operator are its tensors in the order said here.
namespace op {

/// Rows of a table by token; with `positions` those of a second table by place are added. Parameters: the table
/// (vocabulary, columns), the table of places (sequence length + first_position, columns). The result is a partial sum
/// over a group that divides the vocabulary. With `token_types` rows are taken by the token's type, of a table that
/// every member has (Devlin et al., BERT, 2019); with `decoder` by the tokens that a decoder reads.
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

/// Normalisation of every `width` columns. Parameters: gain (width) and, for a layer norm, offset (width).
struct Norm {
  NormForm form;
  std::int64_t width = 0;
};

/// x W^T + b. Parameters: the weight (out, in) and, with `bias`, b (out). By columns the result is divided, by rows it
/// is a partial sum, to which the first member adds the bias (Shoeybi et al., Megatron-LM, 2019, section 3).
struct Linear {
  WeightDivision division = WeightDivision::none;
  bool bias = false;
  bool padded = false;  ///< rows of the result begin where a device's matrix units like it
  bool full = false;    ///< computed in fp32 whatever the type of products
};

/// Turns queries or keys by their place, in place (Su et al., RoFormer, 2021); of a `packed` value that has queries,
/// keys and values side by side the first two thirds.
struct Rotary {
  RotaryForm form;
  std::int64_t head_size = 0;
  bool packed = false;
};

/// Self-attention, causal or of every position to all; or attention of every position to all rows of something else,
/// which k and v are made from. Inputs: q, k and v; or one value that holds all three side by side. `key_heads` divide
/// `heads`: query head h attends to key head h * key_heads / heads (Ainslie et al., "GQA", 2023). Parameters: with
/// `buckets` what is added to the scaled scores, (heads, buckets), divided by heads.
struct SelfAttention {
  std::int64_t heads = 0;
  std::int64_t key_heads = 0;
  std::int64_t head_size = 0;
  double scale = 1.0;
  std::int64_t window = 0;       ///< positions that are seen, the own one included; 0: all earlier ones
  bool causal = true;            ///< whether positions behind the own one are hidden; without that there is no window
  DistanceBuckets buckets = {};  ///< of the bias by distance; none: there is no bias
  bool of_source = false;        ///< the keys are of the source, whose padding is not seen
  std::int64_t span = 0;         ///< rows that see each other: the first `span` of a sample, the next ones; 0: all

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

/// Conversion: a whole value goes into operators that a group divides. Nothing forward; backward the members' gradients
/// are summed. It works in place; or its result is the same value under another name, where operators that are not
/// divided read the value too: what they give of its gradient is whole already.
struct Enter {};

/// Conversion: partial sums of the members become their sum, in place. Nothing backward.
struct Sum {};

/// The numbers of the samples themselves. Nobody asks for their gradient.
struct Features {};

/// (a learned row, rows of the input) + places, in every sample (Dosovitskiy et al., ViT, 2021). Parameters: the row
/// (1, columns), the places (rows of the result, columns).
struct ClassToken {};

/// Another element type. A gradient keeps the narrower one.
struct Conversion {};

/// Conversion: the members gather each other's columns. Backward each takes its own.
struct Gather {};

/// Conversion: each member takes its own columns of a whole value. Backward the members gather them.
struct Take {};

/// Part of every sample of the input, from its element `first` on: a port of several, or the first row. Nothing but
/// operators of this kind, with other parts, reads the input.
struct Split {
  std::int64_t first = 0;
};

/// The inputs one behind the other, sample by sample, as ports of the next layer.
struct Join {};

/// Elements become 0 with probability `rate`, and the others 1 / (1 - rate) times themselves, in place; in training
/// alone. Which ones follows from `stream`, the job's seed, and the number of sample and element.
struct Dropout {
  double rate = 0.0;
  std::uint64_t stream = 0;
};

/// Softmax and cross-entropy of logits, whole or with their classes divided over a group.
struct Loss {};

/// Chooses for every row of logits (rows, experts) the `chosen` experts with the largest softmax, of equal ones those
/// of lower numbers. The result (rows, 2 * chosen) is whole and fp32: the weights of these experts, the largest first,
/// then their numbers. A weight is the softmax over all experts or, `normalised`, over the chosen ones, so that they
/// sum to 1 (Shazeer et al., "Outrageously large neural networks", 2017; Jiang et al., "Mixtral of experts", 2024).
///
/// A row's choice depends on that row alone. Where there is a `capacity` an expert takes no more than so many rows of a
/// sample: those of first choices before those of second ones, of equal ones those of earlier rows (Lepikhin et al.,
/// "GShard", 2020, Algorithm 1, with a sample as the group). The others go on without this expert, and its number in
/// the result is `experts` larger.
struct Router {
  ExpertForm form;
  bool normalised = false;
  std::int64_t capacity = 0;  ///< 0: all that choose it
};

/// Conversion: a router's result for rows of this member's samples becomes one for those that come to it, since it has
/// their experts: for each its weight, its expert's number and the member that it is from. Members are in their order,
/// the rows of each in theirs. Where no row comes there is one that goes to no expert. `form`: of the router.
struct SendChoices {
  ExpertForm form;
};

/// Conversion: rows go to the members with their experts, once for each. Inputs: the rows, the router's result for them
/// and the one that has come of it. Backward the gradients of what was sent come back and are added up.
struct SendRows {
  ExpertForm form;
};

/// Conversion: what members have made of rows goes back, and of each row is added up. Inputs as of `SendRows`.
struct ReturnRows {
  ExpertForm form;
};

/// Adds to the loss how far from balanced the experts of a micro-batch are: experts * the sum over them of the share of
/// rows that chose one, full or not, and its mean softmax over all, which is `chosen` where all are alike (Fedus et
/// al., "Switch transformers", 2022, Eq. 4-6; the shares are no function of the weights). Rows are those of all
/// replicas of the micro-batch. Inputs: logits, the router's result. Nothing is computed unless a job asks for it
/// (`Batch::balance`).
struct ExpertBalance {
  ExpertForm form;
  double share = 1.0;  ///< of this layer in their mean
};

/// The rows of the first input, each once for every expert that it goes to by a router's result, the second input:
/// expert by expert, for each in the order of the rows; `chosen` times as many rows.
struct Dispatch {
  ExpertForm form;
};

/// x W_e^T for rows that are dispatched, where e is the expert that a row goes to. Inputs: the rows, the router's
/// result. Parameters: the weights (out, in) of every expert, divided by experts or as those of `Linear` are.
struct ExpertLinear {
  ExpertForm form;
  bool by_rows = false;  ///< where experts are not divided

  WeightDivision division() const {
    if (form.divided) return WeightDivision::experts;
    return by_rows ? WeightDivision::rows : WeightDivision::columns;
  }
};

/// f(first input) * second input * a weight of the row; without the second input f(first input) * that weight. The last
/// input is whole: a router's result, whose weights those of dispatched rows are; or, with `chosen` = 0, logits
/// (rows, 1) whose sigmoid the weights are.
struct WeightedGate {
  ExpertForm form;
  Activation activation = Activation::silu;
};

/// For every row the sum of what its experts made of it. Inputs: dispatched rows, the router's result.
struct Combine {
  ExpertForm form;
};

/// Each pixel of the result is the product of the weight with the pixels under the window, fp32 in any precision.
/// Parameters: the weight (out, channels * window), a row of it as (channel, row, column), and with `bias` b (out).
/// By columns the channels of the result are divided, by rows those of the input are, and the result is a partial sum.
struct Convolution {
  Window window;
  bool bias = false;
  WeightDivision division = WeightDivision::none;
};

/// y = (x - mean) / sqrt(variance + epsilon) * gain + offset, where mean and biased variance of a channel are those of
/// all pixels of a micro-batch, of all its replicas together (Ioffe and Szegedy, "Batch normalization", 2015).
/// Parameters: gain and offset (channels). Buffers, by `name`: running_mean and running_var, which become
/// (1 - momentum) of themselves + momentum * the micro-batch's mean and unbiased variance, and which an evaluation
/// takes in their place; num_batches_tracked. Where channels are divided a member normalises its own, and has the
/// buffers whole.
struct BatchNorm {
  std::string name;  ///< what the names of its buffers begin with
  double epsilon = 1e-5;
  double momentum = 0.1;
};

/// One number for the pixels under a window, channel by channel.
struct Pool {
  PoolKind kind = PoolKind::max;
  Window window;
};

/// A feature map as one row of each sample, channel by channel.
struct Flatten {};

/// The numbers of each sample in the same order as other rows and columns.
struct Reshape {};

/// x + a learned row for each row of a sample. Parameters: the rows (rows, columns).
struct Places {};

/// A feature map with twice the side.
struct Enlarge {
  EnlargeKind kind = EnlargeKind::bicubic;
  MapSize map;  ///< of the input
};

/// The pixels of a feature map square by square, row by row of squares of `side` pixels a side, the pixels of a square
/// row by row; with `back` the input has that order and the result that of a map.
struct Tiles {
  MapSize map;
  std::int64_t side = 1;
  bool back = false;
};

/// The mean, over the numbers of a sample, of their squared differences from those that it should have.
struct SquareLoss {};

}  // namespace op

/// An operator with the values it reads and writes, and its parameters by their place in `Layer::parameters`. What
/// works in place writes the value that it reads.
struct Operator {
  using Kind = std::variant<op::Embedding, op::Scaling, op::Norm, op::Linear, op::Rotary, op::SelfAttention,
                            op::Activate, op::Gate, op::Addition, op::Enter, op::Sum, op::Features, op::Conversion,
                            op::Gather, op::Take, op::Split, op::Join, op::Loss, op::ClassToken, op::Router,
                            op::Dispatch, op::ExpertLinear, op::WeightedGate, op::Combine, op::ExpertBalance,
                            op::Dropout, op::Convolution, op::BatchNorm, op::Pool, op::Flatten, op::Reshape, op::Places,
                            op::Enlarge, op::Tiles, op::SquareLoss, op::SendChoices, op::SendRows, op::ReturnRows>;
  Kind kind;
  std::vector<ValueIndex> inputs;
  std::optional<ValueIndex> output;  ///< nothing: the loss, or a part of it
  std::vector<std::size_t> parameters;

  template <class T>
  const T* as() const {
    return std::get_if<T>(&kind);
  }
  bool in_place() const { return output && !inputs.empty() && inputs.front() == *output; }
};

/// Calls that fit the kind of an operator: `std::visit(overloaded{[](const op::Norm&) {...}, ...}, op.kind)`.
template <class... Ts>
struct overloaded : Ts... {
  using Ts::operator()...;
};
template <class... Ts>
overloaded(Ts...) -> overloaded<Ts...>;

}  // namespace pptrain
