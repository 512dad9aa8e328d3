#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "model/model.hpp"

namespace pptrain {

/// Writes a layer down: every function adds an operator and returns its result. Conversions between
/// divisions are put in where an operator needs another one than it finds, once for all that read a
/// value.
///
/// Names of parameters are the prefix, what a function is told, and ".weight" or ".bias".
class LayerGraph {
 public:
  /// `deviation`: of initial random weights, where a function is told nothing else.
  LayerGraph(std::string name, std::string prefix, double deviation = 0.02)
      : prefix_(std::move(prefix)), deviation_(deviation) {
    layer_.name = std::move(name);
  }
  LayerGraph(const LayerGraph&) = delete;
  LayerGraph& operator=(const LayerGraph&) = delete;

  /// A linear map to `out` columns. With `columns` its result is divided, with `rows` its inputs
  /// are; with neither every member computes all of it.
  struct LinearShape {
    std::int64_t out = 0;
    AxisDivision columns = {};
    AxisDivision rows = {};
    bool bias = false;
    bool padded = false;
    bool wide = false;       ///< whether the result is fp32 in any case
    bool full = false;       ///< whether it is computed in fp32 too
    double deviation = 0.0;  ///< of initial weights; 0: the graph's
    FileLayout layout = FileLayout::same;
    std::string tied_to = {};  ///< full name of the weight that it shares; "": its own
    std::vector<std::int64_t> file_shape = {};  ///< of the weight, where files have it in other
                                                ///< dimensions
    FilePart file_part = {};  ///< of weight and bias; names of tensors go on from the prefix
    ShardAxis row_axis = ShardAxis::none;  ///< of the inputs, where the layer may be divided by
                                           ///< rows instead
  };

  /// Sets what the layer before hands over, a whole fp32 value. A layer without `input` or `inputs`
  /// is the first one.
  ValueIndex input(const Port& port);
  /// What several ports bring, in their order. A layer that has no use for one hands it on with
  /// `outputs`.
  std::vector<ValueIndex> inputs(const std::vector<Port>& ports);
  /// The numbers of a sample, fp32, as `rows` rows of `count` columns. For the first layer.
  ValueIndex features(std::int64_t count, std::int64_t rows = 1);
  struct EmbeddingShape {
    std::int64_t vocabulary = 0;
    std::int64_t columns = 0;
    std::int64_t rows = 0;            ///< positions of a sample
    std::string positions = {};       ///< name of the table of places; "": none
    std::int64_t num_positions = 0;   ///< its rows
    std::int64_t first_position = 0;  ///< that the first place takes
    bool decoder = false;             ///< whether its rows are those of the decoder's tokens
  };
  /// Rows of the table `name` for the tokens of a sample, plus those of the table of places if
  /// `shape` names one. The result is whole, though the vocabulary of the table may be divided.
  ValueIndex embedding(const std::string& name, const EmbeddingShape& shape);
  /// Rows of a table of `count` token types.
  ValueIndex token_types(const std::string& name, std::int64_t count, std::int64_t rows,
                         std::int64_t columns);
  /// `x` behind a learned row, with a row of places added to each; both names are whole.
  ValueIndex class_token(const std::string& token, const std::string& places, ValueIndex x);
  /// The first row of each sample. Nothing else may read `x`.
  ValueIndex first_row(ValueIndex x);
  /// Multiplies in place; returns `x`.
  ValueIndex scale(ValueIndex x, double factor);
  /// Normalises whole rows; the result has the element type of products, or fp32 where it is the
  /// stream itself.
  ValueIndex norm(const std::string& name, ValueIndex x, const NormForm& form,
                  Element element = Element::compute);
  /// Normalises every head of queries or keys by itself.
  ValueIndex head_norm(const std::string& name, ValueIndex x, const NormForm& form,
                       std::int64_t head_size);
  /// x W^T, plus a bias if `shape` has one; partial sums are added over the members. The result is
  /// fp32 if `shape` is `wide`, `full` or divided by rows, else it has the type of products.
  ValueIndex linear(const std::string& name, ValueIndex x, const LinearShape& shape);
  /// Turns queries or keys by their place, in place; returns `x`. `packed`: `x` holds queries, keys
  /// and values.
  ValueIndex rotary(ValueIndex x, const RotaryForm& form, std::int64_t head_size,
                    bool packed = false);
  /// `bias`: full name of the table, with buckets of distances, which several layers may share. In
  /// a file it is (buckets, heads).
  ValueIndex attention(const std::vector<ValueIndex>& inputs, const op::SelfAttention& shape,
                       const std::string& bias = {});
  /// Applies the function to each element; `x` stays.
  ValueIndex activate(ValueIndex x, Activation activation);
  /// f(gate) * up, element by element; both inputs stay.
  ValueIndex gate(ValueIndex gate, ValueIndex up, Activation activation);
  /// x + y. Where `y` comes from a product divided by rows that has a bias and is not scaled, the
  /// bias is added here.
  ValueIndex add(ValueIndex x, ValueIndex y);
  /// Copies `x` to another element type.
  ValueIndex convert(ValueIndex x, Element element);
  /// Every member gets the columns of all; `x` is fp32.
  ValueIndex gather(ValueIndex x);
  /// Each member takes its columns of a whole value.
  ValueIndex take(ValueIndex x, const AxisDivision& columns);
  /// `cap`: as of `op::Loss`.
  void loss(ValueIndex logits, double cap = 0.0);

  /// A router's result for the rows of `x`; the weight of its logits has the name.
  /// `share`: of this layer's balance in the mean of all.
  ValueIndex router(const std::string& name, ValueIndex x, const op::Router& router, double share);
  /// Copies rows to experts, by the router's result `choice`: `form.chosen` times as many, expert
  /// by expert.
  ValueIndex dispatch(ValueIndex x, ValueIndex choice, const ExpertForm& form);
  /// `names`: of each expert's weight. Columns, division and deviation are those of `shape`.
  ValueIndex expert_linear(const std::vector<std::string>& names, ValueIndex x, ValueIndex choice,
                           const ExpertForm& form, const LinearShape& shape);
  /// `up`: nothing where the activated product is not multiplied by another. `form`: of the router
  /// whose result `weights` is; without experts these are logits (rows, 1).
  ValueIndex weighted_gate(ValueIndex gate, std::optional<ValueIndex> up, ValueIndex weights,
                           Activation activation, const ExpertForm& form);
  /// Adds up what experts made of each row, the way back from `dispatch`; the result is fp32.
  ValueIndex combine(ValueIndex x, ValueIndex choice, const ExpertForm& form);
  /// Whether members have samples of their own, so that rows are sent to experts.
  bool exchanges() const { return division_ == WeightDivision::exchange; }
  /// What comes to this member of the choices of a router, whose result is `choice`.
  ValueIndex send_choices(ValueIndex choice, const ExpertForm& form);
  /// The rows of `x` that come to this member for its experts. `received` is what `send_choices`
  /// gave.
  ValueIndex send_rows(ValueIndex x, ValueIndex choice, ValueIndex received,
                       const ExpertForm& form);
  /// Sends back what experts made of the rows, and adds it up for each row of this member.
  /// `received` is what `send_choices` gave.
  ValueIndex return_rows(ValueIndex x, ValueIndex choice, ValueIndex received,
                         const ExpertForm& form);

  // Operators of feature maps, whose rows are the pixels of `window.height` x `window.width` and
  // whose columns are channels.
  /// A convolution to `out` channels. With `columns` these are divided, with `rows` those of its
  /// input are.
  struct ConvolutionShape {
    Window window;
    std::int64_t out = 0;
    bool bias = false;  ///< not with `rows`
    AxisDivision columns = {};
    AxisDivision rows = {};
  };
  /// The weight is (out, channels, height, width) in files.
  ValueIndex convolution(const std::string& name, ValueIndex x, const ConvolutionShape& shape);
  /// Normalises channels over the micro-batch of all replicas; adds their running averages to the
  /// layer's buffers. `momentum`: share of the newest micro-batch in these.
  ValueIndex batch_norm(const std::string& name, ValueIndex x, double epsilon, double momentum);
  /// Maximum or mean of each channel under the window, which must fit `x`; a mean takes no padding.
  ValueIndex pool(ValueIndex x, PoolKind kind, const Window& window);
  /// One row of each sample, channel by channel, as classifiers read a map.
  ValueIndex flatten(ValueIndex x);
  /// A map of twice the height and width. `map`: size of `x`. `shuffle` takes four channels for
  /// each one of the result.
  ValueIndex enlarge(ValueIndex x, EnlargeKind kind, const MapSize& map);
  /// The pixels of a map square by square, or `back`.
  ValueIndex tiles(ValueIndex x, const MapSize& map, std::int64_t side, bool back);
  /// As many numbers in `rows` rows.
  ValueIndex reshape(ValueIndex x, std::int64_t rows);
  /// `x` with a learned row added to each of its own; the name is whole.
  ValueIndex places(const std::string& name, ValueIndex x);
  /// Ends a layer that draws: the mean squared difference of `x` from the image that is the target.
  void square_loss(ValueIndex x);
  /// The end of a language model: a norm of the stream, the product with the vocabulary's rows, the
  /// loss.
  struct OutputShape {
    std::string norm;  ///< name of the norm
    NormForm form;
    std::string head;  ///< name of the product
    std::int64_t vocabulary = 0;
    std::string tied_to = {};  ///< as of `LinearShape`
    double scale = 1.0;        ///< of the norm's result, before the product
    double deviation = 0.0;    ///< of the product's weights, as of `LinearShape`
    double logit_cap = 0.0;    ///< as of `op::Loss`
  };
  /// Ends the last layer with what `shape` says; there is no `output` then.
  void language_output(ValueIndex stream, const OutputShape& shape);

  /// Sets the result of the layer; one that computes the loss has none.
  void output(ValueIndex result) { list().output = result; }
  /// Sets several results, each with the name of its port.
  struct Output {
    std::string port;
    ValueIndex value;
  };
  /// Sets what crosses to the next layer, in the order of its ports; each value must be whole and
  /// fp32.
  void outputs(const std::vector<Output>& results);
  /// The layer with the folds over its operators, for numbers of `compute_bytes` in products.
  Layer finish(double compute_bytes);

  /// Shape, type and division of a value; the reference is valid until the next operator is added.
  const Value& value(ValueIndex v) const { return list().values[v]; }
  /// What follows is the same layer as it is divided otherwise, with the parameters of before.
  void begin_division(WeightDivision division);

 private:
  OperatorList& list() { return *list_; }
  const OperatorList& list() const { return *list_; }
  ValueIndex make(const Value& value);
  std::size_t parameter(ParameterSpec spec);
  std::vector<std::size_t> norm_parameters(const std::string& name, const NormForm& form,
                                           std::int64_t width);
  std::vector<std::size_t> linear_parameters(const std::string& name, std::int64_t in,
                                             const LinearShape& shape);
  void put(Operator::Kind kind, std::vector<ValueIndex> inputs, std::optional<ValueIndex> output,
           std::vector<std::size_t> parameters = {});
  ValueIndex in_place(Operator::Kind kind, ValueIndex x);
  /// Divided operators read it: their gradients of it will be summed.
  void enter(ValueIndex x);
  /// The form as members have it.
  ExpertForm as_divided(ExpertForm form) const;
  /// What has entered divided operators is read by one that is not: those read it by another name
  /// from here on.
  void keep_apart(ValueIndex x);
  std::optional<std::size_t> take_bias(ValueIndex sum);

  Layer layer_;
  std::string prefix_;
  double deviation_;
  WeightDivision division_ = WeightDivision::columns;  ///< of what is put down
  OperatorList* list_ = &layer_.operators;             ///< the list that operators are put down in
  std::vector<Port> output_ports_;                     ///< where they have been named
  std::set<ValueIndex> entered_;
};

}  // namespace pptrain
