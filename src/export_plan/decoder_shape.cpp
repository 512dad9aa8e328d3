#include "export_plan/decoder_shape.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <variant>

#include "base/error.hpp"

namespace pptrain {
namespace {

/// Reads the numbers of one block off its operators, in the order in which they run.
class BlockReader {
 public:
  explicit BlockReader(DecoderShape& shape) : shape_(shape) {}

  void read(const Layer& layer) {
    layer_ = &layer;
    for (const Operator& operation : layer.operators.operators) {
      std::visit(
          overloaded{[&](const op::Norm& norm) { take_norm(norm, operation); },
                     [&](const op::Linear& linear) { take_linear(linear, operation); },
                     [&](const op::Rotary& rotary) { shape_.rotary = rotary.form; },
                     [&](const op::SelfAttention& attention) { take_attention(attention); },
                     [&](const op::Activate& activate) { shape_.activation = activate.activation; },
                     [&](const op::Gate& gate) { take_gate(gate.activation); },
                     [&](const op::WeightedGate& gate) { take_weighted_gate(gate, operation); },
                     [&](const op::Router& router) { take_router(router); },
                     [&](const op::ExpertLinear&) { take_expert(operation); },
                     [&](const op::Addition& addition) { take_addition(addition); },
                     [&](const op::Enter&) {},
                     [&](const op::Sum&) {},
                     [&](const op::Conversion&) {},
                     [&](const op::Gather&) {},
                     [&](const op::Take&) {},
                     [&](const op::Dropout&) {},
                     [&](const op::Dispatch&) {},
                     [&](const op::Combine&) {},
                     [&](const op::ExpertBalance&) {},
                     [&](const auto&) { known_ = false; }},
          operation.kind);
    }
  }

  /// Whether nothing but what a decoder's block has was found.
  bool is_block() const { return known_ && attended_ && shape_.feed_forward > 0; }

 private:
  const ParameterSpec& parameter(const Operator& operation) const {
    return layer_->parameters[operation.parameters.front()];
  }

  void take_norm(const op::Norm& norm, const Operator& operation) {
    if (multiplied_ && !attended_) {
      shape_.head_norms = true;
      normalised_width_ = norm.width;
      return;
    }
    // What is added to the stream has no norm of its own.
    known_ = known_ && layer_->operators.values[*operation.output].element != Element::fp32;
    shape_.norm = norm.form;
    if (attended_ && num_added_ == 0)
      shape_.parallel = true;  // it reads what attention has not been added to
  }

  void take_linear(const op::Linear& linear, const Operator& operation) {
    const std::int64_t rows = parameter(operation).shape.front();
    multiplied_ = true;
    if (!attended_) {
      shape_.query_bias = shape_.query_bias || linear.bias;
    } else if (!projected_) {
      projected_ = true;
      shape_.output_bias = shape_.output_bias || linear.bias;
    } else if (shape_.experts.number > 0) {
      if (rows == 1) shape_.experts.shared_gate = true;
      if (rows != 1 && shape_.experts.shared == 0) shape_.experts.shared = rows;
    } else {
      shape_.feed_forward_bias = shape_.feed_forward_bias || linear.bias;
      if (shape_.feed_forward == 0) shape_.feed_forward = rows;
    }
  }

  /// The bias of a product that is added to the stream may be the sum's.
  void take_addition(const op::Addition& addition) {
    bool& bias = num_added_ == 0 ? shape_.output_bias : shape_.feed_forward_bias;
    bias = bias || addition.bias;
    ++num_added_;
  }

  void take_attention(const op::SelfAttention& attention) {
    known_ = known_ && !attended_ && attention.causal && attention.buckets.count == 0;
    attended_ = true;
    shape_.heads = attention.heads;
    shape_.key_heads = attention.key_heads;
    shape_.head_size = attention.head_size;
    shape_.window = attention.window;
    const auto size = static_cast<double>(attention.head_size);
    known_ =
        known_ && attention.cap == 0.0 && std::abs(attention.scale * std::sqrt(size) - 1.0) < 1e-6;
    known_ = known_ && (!shape_.head_norms || normalised_width_ == attention.head_size);
  }

  void take_gate(Activation activation) {
    shape_.gated = true;
    shape_.activation = activation;
  }

  void take_weighted_gate(const op::WeightedGate& gate, const Operator& operation) {
    constexpr std::size_t inputs_of_gated = 3;
    shape_.activation = gate.activation;
    shape_.gated = operation.inputs.size() == inputs_of_gated;
  }

  void take_router(const op::Router& router) {
    shape_.experts.number = router.form.experts;
    shape_.experts.chosen = router.form.chosen;
    shape_.experts.normalised = router.normalised;
    shape_.experts.capacity = router.capacity;
  }

  void take_expert(const Operator& operation) {
    if (shape_.feed_forward == 0) shape_.feed_forward = parameter(operation).shape.front();
  }

  DecoderShape& shape_;
  const Layer* layer_ = nullptr;
  bool attended_ = false;
  bool projected_ = false;
  bool multiplied_ = false;
  int num_added_ = 0;
  std::int64_t normalised_width_ = 0;  ///< of queries and keys
  bool known_ = true;
};

bool attends(const Layer& layer) {
  const std::vector<Operator>& operators = layer.operators.operators;
  return std::any_of(operators.begin(), operators.end(),
                     [](const Operator& o) { return o.as<op::SelfAttention>() != nullptr; });
}

/// The layers between the first and the last one, a block for each that attends and those up to the
/// next such one.
std::vector<Interval> blocks_of(const Model& model) {
  std::vector<Interval> blocks;
  for (std::int64_t layer = 1; layer + 1 < model.num_layers(); ++layer) {
    if (attends(model.layers[static_cast<std::size_t>(layer)]) || blocks.empty())
      blocks.push_back({layer, layer});
    blocks.back().end = layer + 1;
  }
  return blocks;
}

void take_embedding(const Layer& layer, DecoderShape& shape) {
  for (const Operator& operation : layer.operators.operators) {
    if (const auto* scaling = operation.as<op::Scaling>()) shape.embedding_scale = scaling->factor;
    const auto* embedding = operation.as<op::Embedding>();
    if (embedding == nullptr) continue;
    const ParameterSpec& table = layer.parameters[operation.parameters.front()];
    shape.vocabulary = table.shape.front();
    shape.hidden = table.shape.back();
    if (embedding->positions)
      shape.learned_positions = layer.parameters[operation.parameters[1]].shape.front();
  }
}

/// Whether the output layer scales what it makes logits of.
bool scales_logits(const Model& model) {
  const std::vector<Operator>& operators = model.layers.back().operators.operators;
  return std::any_of(operators.begin(), operators.end(),
                     [](const Operator& o) { return o.as<op::Scaling>() != nullptr; });
}

/// Whether two blocks are made of layers that compute alike.
bool same_blocks(const Model& model, Interval a, Interval b) {
  if (a.size() != b.size()) return false;
  for (std::int64_t i = 0; i < a.size(); ++i) {
    const Layer& first = model.layers[static_cast<std::size_t>(a.begin + i)];
    if (first.signature != model.layers[static_cast<std::size_t>(b.begin + i)].signature)
      return false;
  }
  return true;
}

[[noreturn]] void refuse(const Model& model, const std::string& trainer, const std::string& source,
                         const std::string& reason) {
  throw_bad_input({source, fmt::format("{} cannot be told of the model {}", trainer, model.name),
                   reason, "train it with pptrain, which runs any model that it plans"});
}

}  // namespace

DecoderShape decoder_shape(const Model& model, const std::string& trainer,
                           const std::string& source) {
  if (!model.sample.predicts_next())
    refuse(model, trainer, source, "only decoders of texts are exported");
  DecoderShape shape;
  shape.tokens = model.sample.rows;
  take_embedding(model.layers.front(), shape);
  shape.tied = !model.shared_parameters().empty();
  if (scales_logits(model)) refuse(model, trainer, source, "its logits are scaled");
  shape.blocks = blocks_of(model);
  if (shape.blocks.empty() || shape.hidden == 0)
    refuse(model, trainer, source, "it has no block with attention");
  for (const Interval block : shape.blocks) {
    if (!same_blocks(model, shape.blocks.front(), block)) {
      refuse(model, trainer, source,
             fmt::format("its layers {} and {} differ, and one shape has to do for all blocks",
                         shape.blocks.front().begin, block.begin));
    }
  }
  BlockReader reader(shape);
  for (std::int64_t layer = shape.blocks.front().begin; layer < shape.blocks.front().end; ++layer) {
    reader.read(model.layers[static_cast<std::size_t>(layer)]);
  }
  if (!reader.is_block())
    refuse(model, trainer, source, "its blocks are no causal attention with a feed-forward part");
  return shape;
}

}  // namespace pptrain
