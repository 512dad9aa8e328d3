#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/ids.hpp"
#include "base/interval.hpp"
#include "config/config.hpp"
#include "model/operators.hpp"
#include "model/work.hpp"

namespace pptrain {

/// Initial values of a parameter: random, or all the same.
enum class Initial { normal, ones, zeros };

/// How a parameter of a published checkpoint differs from the (out, in) of `ParameterSpec::shape`.
/// `transposed`: it is (in, out), as GPT-2's Conv1D has it. `heads_outside`: its rows are (heads,
/// groups, unit) and not (groups, heads, unit).
enum class FileLayout { same, transposed, heads_outside };

/// Rows of a tensor that files hold several parameters in, one behind the other.
struct FilePart {
  std::string tensor;  ///< its name in files; "": the parameter is a tensor of its own there
  std::int64_t first_row = 0;  ///< where the parameter's rows begin
  std::int64_t rows = 0;       ///< of the whole tensor
};

/// One logical parameter tensor, whole.
///
/// A sharded dimension of size `groups * axis_size * unit` is divided by intervals of the axis:
/// shard [b, e) holds, in each group g, rows [(g * axis_size + b) * unit, (g * axis_size + e) *
/// unit). c_attn has groups = 3 (q, k, v), axis heads, unit = head size. Where `sharing` positions
/// of the axis need the same unit, as query heads their key head, there are axis_size / sharing
/// units in a group, and shards may hold equal ones.
struct ParameterSpec {
  std::string name;                 ///< as in published checkpoints, "h.0.attn.c_attn.weight"
  std::vector<std::int64_t> shape;  ///< linear weights are (out, in)
  ShardAxis axis = ShardAxis::none;
  int dimension = 0;  ///< which dimension is sharded
  std::int64_t groups = 1;
  std::int64_t unit = 1;
  double deviation = 0.02;               ///< of initial random weights
  ShardAxis row_axis = ShardAxis::none;  ///< of its inputs, where the layer may be divided by rows
                                         ///< too
  std::int64_t sharing = 1;
  Initial initial = Initial::normal;
  FileLayout layout = FileLayout::same;
  std::vector<std::int64_t> file_shape = {};  ///< of the same elements in files; empty: as here
  FilePart file_part = {};                    ///< with the layout `same`
  bool hidden = false;       ///< of a layer between the first and the last; `build_model` says it
  bool buffer = false;       ///< kept with the parameters, but not trained
  std::int64_t expert = -1;  ///< of whose part it is alone, so that whole experts may be divided;
                             ///< -1: of none

  /// Elements of the whole tensor, however it is divided.
  std::int64_t size() const;
  /// Division of the sharded dimension; axis `none`: every member has the whole tensor.
  AxisDivision division() const { return {axis, groups, unit, sharing}; }
  /// Weight decay applies to tensors with two or more dimensions.
  bool decays() const { return shape.size() >= 2; }
  /// The parameter of a layer divided in this way, where it may be divided either way.
  ParameterSpec divided_by(WeightDivision division) const;
  /// Elements of the flattened whole that the shard `part` of the axis (of `axis_size`) holds,
  /// in increasing order; the whole when the parameter is not sharded.
  std::vector<Interval> shard_elements(Interval part, std::int64_t axis_size) const;
};

/// One tensor that crosses from a layer to the next, fp32: rows and columns of a sample.
struct Port {
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  std::string name = "stream";

  std::int64_t elements() const { return rows * columns; }  ///< numbers of one sample
  bool operator==(const Port&) const = default;
};

/// All that crosses from a layer to the next. A sample's ports lie one behind the other in one
/// tensor, so that whatever moves samples moves all of its ports together.
struct Boundary {
  std::vector<Port> ports;

  Boundary(const Port& port) : ports{port} {}
  explicit Boundary(std::vector<Port> several) : ports(std::move(several)) {}

  /// Rows and columns of a sample in that tensor: those of the only port, or one row of all
  /// elements.
  Port packed() const;
  /// Elements of a sample, of all ports together.
  std::int64_t elements() const { return packed().elements(); }
  /// Bytes of a sample, of all ports together.
  double bytes() const { return 4.0 * static_cast<double>(elements()); }
  bool operator==(const Boundary&) const = default;
};

/// The operators of a layer in the order in which they run forward, and the values between them.
struct OperatorList {
  std::vector<Value> values;
  std::vector<Operator> operators;
  std::optional<ValueIndex> input;   ///< nothing: the layer reads the samples
  std::optional<ValueIndex> output;  ///< nothing: it computes the loss
};

/// One layer of the chain.
struct Layer {
  std::string name;  ///< unique: "embedding", "block.0", ..., "output"
  std::vector<ParameterSpec> parameters;
  std::vector<ParameterSpec> buffers;  ///< what its operators keep from step to step beside, on
                                       ///< every device whole
  OperatorList operators;              ///< divided by columns, or as Megatron does
  /// The operators where the layer is divided in another way: by rows of weights, or with its
  /// experts divided.
  std::map<WeightDivision, OperatorList> other_divisions;
  std::optional<Boundary> input;   ///< nothing: the layer is the first one and reads the samples
  std::optional<Boundary> output;  ///< nothing: it is the last one and computes the loss
  Work work;                       ///< of all its operators, per sample
  double flop_forward = 0.0;       ///< per sample; backward_input and backward_weight likewise
  double flop_backward_input = 0.0;
  double flop_backward_weight = 0.0;
  double output_bytes = 0.0;  ///< per sample: what crosses to the next layer
  double stored_bytes = 0.0;  ///< per sample, held from the start of F to the end of B/W, input
                              ///< included
  double tensor_parallel_allreduce_bytes = 0.0;  ///< per sample, in each of F and B
  double exchange_bytes = 0.0;  ///< per sample: what goes to experts and back, in each of F and B
  double batch_norms = 0.0;     ///< how many sum over the replicas of a stage
  double batch_norm_channels = 0.0;  ///< channels of all `batch_norms` together
  std::string signature;  ///< equal for layers that compute alike: operators, dimensions and
                          ///< divisions, without names

  /// Elements of all parameters, whole; what several layers share counts in each of them. Buffers
  /// do not count.
  std::int64_t num_parameters() const;
  /// Experts among which a router chooses; 0: none does.
  std::int64_t num_experts() const;
  /// Whether the layer is the first one, so that no other hands it an input.
  bool reads_samples() const { return !input; }
  /// Whether the layer is the last one, so that it has no output.
  bool computes_loss() const { return !output; }
  /// Whether an embedding of the layer looks up the tokens that a decoder reads (`SourceShape`).
  bool reads_decoder_tokens() const;
  /// Whether the layer may be divided in this way in place of that of `operators`.
  bool has_division(WeightDivision division) const { return other_divisions.contains(division); }
  /// The operators of a layer divided in this way, or as `operators` where it cannot be.
  const OperatorList& divided_by(WeightDivision division) const;
};

/// Pixels of an image. With patches a model reads it patch by patch, row by row of these, each as
/// (channel, row, column); without, the whole image so.
struct ImageShape {
  std::int64_t channels = 0;  ///< 0: there is no image
  std::int64_t height = 0;
  std::int64_t width = 0;
  std::int64_t patch = 0;  ///< height and width of a square one; 0: none

  /// Numbers of an image: channels times height times width.
  std::int64_t pixels() const { return channels * height * width; }
  /// Patches of an image; 1 where it is read whole.
  std::int64_t num_patches() const { return patch == 0 ? 1 : (height / patch) * (width / patch); }
  bool operator==(const ImageShape&) const = default;
};

/// The tokens that an encoder reads, beside those that are predicted. The decoder reads the latter
/// behind `first_token`, so that it has seen those before the one that a position predicts.
struct SourceShape {
  std::int64_t length = 0;  ///< 0: there is no source
  std::int64_t first_token = 0;
  std::int64_t padding = 0;  ///< token that fills up a source behind its end, which nothing attends
                             ///< to

  bool operator==(const SourceShape&) const = default;
};

/// What a sample of the data is: tokens, each predicting the next one; tokens with a type each, of
/// which some have a label; tokens that are predicted from those of a source; or `features` numbers
/// with a class.
struct SampleShape {
  std::int64_t rows = 1;         ///< targets of a sample: positions, or one
  std::int64_t features = 0;     ///< 0: tokens
  std::int64_t classes = 0;      ///< that a target may be
  std::int64_t token_types = 0;  ///< that a token may have; 0: tokens predict the next one
  ImageShape image = {};         ///< that the features are
  SourceShape source = {};
  ImageShape drawing = {};  ///< that a sample is to become, in place of a class, each pixel with
                            ///< its channels

  /// Whether a model reads tokens; else it reads `features` numbers.
  bool tokens() const { return features == 0; }
  /// Whether the numbers that a model reads are an image.
  bool is_image() const { return image.channels > 0; }
  /// Whether an image is the target, in place of classes.
  bool has_drawing() const { return drawing.channels > 0; }
  /// Whether there is an encoder, for which samples have tokens of their own.
  bool has_source() const { return source.length > 0; }
  /// Whether the target of each token is the next one, as of a decoder alone.
  bool predicts_next() const { return tokens() && token_types == 0 && !has_source(); }
  /// Whether positions may be without a target, which is below 0 then.
  bool has_unlabelled() const { return token_types > 0 || has_source(); }
  /// Tokens of a sample that the first layer reads.
  std::int64_t input_tokens() const { return has_source() ? source.length : rows; }
  bool operator==(const SampleShape&) const = default;
};

/// A parameter that several layers read, under one name: a tied embedding, a table of relative
/// positions.
struct SharedParameter {
  const ParameterSpec* spec;  ///< as the first of them has it
  std::vector<std::int64_t> layers;
};

/// A chain of layers: for a language model layer 0 is the embedding, 1..L the blocks, L+1 the final
/// norm with the output layer and the loss; for a classifier 0..L-1 are the features, L the classes
/// and the loss.
struct Model {
  std::string name;
  std::vector<Layer> layers;
  SampleShape sample;
  std::map<ShardAxis, std::int64_t> axes;  ///< length of each axis that something is divided along

  /// Length of the chain, with embedding and output.
  int num_layers() const { return static_cast<int>(layers.size()); }
  /// Parameters of the model, a shared tensor counted once.
  std::int64_t num_parameters() const;
  /// Length of a logical axis, 0 where the model has none, 1 for `none`.
  std::int64_t axis_size(ShardAxis axis) const;
  /// What the degree of an even tensor-parallel grid divides: heads, or else the columns of layers'
  /// inner products, or else classes.
  std::int64_t divided_units() const;
  /// How many members may divide it at most: each has a position of every axis but that of experts,
  /// of which there is another division.
  std::int64_t most_members() const;
  /// Degrees of tensor parallelism that are tried without being asked for: powers of two that
  /// divide its units, up to 8, or 32 where these are columns or classes, which are many.
  std::vector<int> tensor_parallel_degrees() const;
  /// What crosses behind a layer that is not the last.
  const Boundary& boundary_behind(int layer) const {
    return *layers[static_cast<std::size_t>(layer)].output;
  }
  /// The parameters that several layers read, in the order of the layers.
  std::vector<SharedParameter> shared_parameters() const;
  /// FLOP of one training step per sample, for model FLOP utilisation.
  double flop_per_sample() const;
  /// Whether rows go to experts.
  bool routes() const;
};

/// The parameters of a model, a shared one once, in the order of the layers.
std::vector<ParameterSpec> logical_parameters(const Model& model);

/// What checkpoints and folders hold of a model: its parameters, then its buffers.
std::vector<ParameterSpec> stored_tensors(const Model& model);

/// Length of each axis by its name in plans.
std::map<std::string, std::int64_t> axes_of(const Model& model);

/// The model of that name with the configuration's dimensions.
/// Bad dimensions (heads that do not divide hidden_size, ...) throw `Error`, exit code 2.
Model build_model(const ModelConfig& model, const TrainingConfig& training,
                  const std::string& source);

}  // namespace pptrain
