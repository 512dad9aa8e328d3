#include "model/folds/held_bytes.hpp"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "base/one_of.hpp"
#include "model/folds/kept_values.hpp"

namespace pptrain {
namespace {

/// Buffers that come and go, and the most that they took at once.
class Buffers {
 public:
  explicit Buffers(double held) : held_(held), most_(held) {}
  void add(double bytes) {
    held_ += bytes;
    most_ = std::max(most_, held_);
  }
  void drop(double bytes) { held_ -= bytes; }
  double held() const { return held_; }
  double most() const { return most_; }

 private:
  double held_;
  double most_;
};

/// The gradients of a layer's values, of which several may be one buffer.
class Gradients {
 public:
  Gradients(std::size_t values, Buffers& buffers) : buffers_(buffers), of_(values) {}
  bool has(ValueIndex v) const { return of_[v].has_value(); }
  bool is_own(ValueIndex v) const { return has(v) && readers_[*of_[v]] == 1; }
  void make(ValueIndex v, double bytes) {
    of_[v] = sizes_.size();
    sizes_.push_back(bytes);
    readers_.push_back(1);
    buffers_.add(bytes);
  }
  /// Lets `v` have the gradient of `other`.
  void share(ValueIndex v, ValueIndex other) {
    of_[v] = of_[other];
    ++readers_[*of_[v]];
  }
  /// Lets `v` have a gradient of its own of other bytes, made from the one that it has.
  void replace(ValueIndex v, double bytes) {
    const std::optional<std::size_t> before = std::exchange(of_[v], std::nullopt);
    make(v, bytes);
    leave(before);
  }
  void drop(ValueIndex v) { leave(std::exchange(of_[v], std::nullopt)); }

 private:
  /// One reader less of a buffer, which goes with its last one.
  void leave(std::optional<std::size_t> buffer) {
    if (buffer && --readers_[*buffer] == 0) buffers_.drop(sizes_[*buffer]);
  }

  Buffers& buffers_;
  std::vector<std::optional<std::size_t>> of_;
  std::vector<double> sizes_;
  std::vector<int> readers_;
};

/// What an operator that does not work in place does with memory.
struct MemoryUse {
  bool makes_value = true;       ///< F puts the result into new memory, not into that of an input
  bool passes_gradient = false;  ///< B passes the gradient of the result on as that of the inputs,
                                 ///< in the same memory
  bool keeps_gradient = false;   ///< W reads the gradient of the result
};

MemoryUse memory_use(const Operator& op) {
  return std::visit(
      overloaded{
          [](const one_of<op::Linear, op::ExpertLinear, op::Convolution, op::Embedding,
                          op::ClassToken, op::Places> auto&) {
            return MemoryUse{.keeps_gradient = true};
          },
          // What enters keeps its memory; a sum takes the place of the product that it adds.
          [](const one_of<op::Enter, op::Addition> auto&) {
            return MemoryUse{.makes_value = false, .passes_gradient = true};
          },
          [](const op::Take&) { return MemoryUse{.makes_value = false}; },
          [](const one_of<op::Scaling, op::Norm, op::Rotary, op::SelfAttention, op::Activate,
                          op::Gate, op::Sum, op::Features, op::Conversion, op::Gather, op::Split,
                          op::Join, op::Loss, op::Router, op::Dispatch, op::WeightedGate,
                          op::Combine, op::ExpertBalance, op::Dropout, op::BatchNorm, op::Pool,
                          op::Flatten, op::Reshape, op::Enlarge, op::Tiles, op::SquareLoss,
                          op::SendChoices, op::SendRows, op::ReturnRows> auto&) {
            return MemoryUse{};
          }},
      op.kind);
}

/// Whether B passes the gradient of the result on as that of the inputs, in the same memory.
bool passes_gradient(const Operator& op) { return op.in_place() || memory_use(op).passes_gradient; }

/// One layer on a member.
class MemberLayer {
 public:
  MemberLayer(const OperatorList& list, double compute_bytes, int degree)
      : list_(list), compute_bytes_(compute_bytes), degree_(degree) {
    for (const Operator& op : list.operators) {
      for (const ValueIndex v : needs_of(op, list, Recompute::none).backward_weight)
        read_by_weight_.push_back(of(v));
    }
  }

  double stored(Recompute recompute) const {
    return kept_bytes(list_, recompute, compute_bytes_, degree_);
  }

  /// The most that F has at once beside its result, which the next layer counts, beyond `stored`.
  double forward_workspace(double stored) const {
    const std::vector<bool> kept = kept_values(list_, Recompute::none);
    Buffers buffers(list_.input ? value_bytes(*list_.input) : 0.0);
    for (std::size_t i = 0; i < list_.operators.size(); ++i) {
      const Operator& op = list_.operators[i];
      buffers.add(statistics(op));
      if (op.output && makes_value(op)) buffers.add(value_bytes(*op.output));
      for (ValueIndex v = 0; v < list_.values.size(); ++v) {
        if (list_.output != v && !kept[v] && last_use(v) == i) buffers.drop(value_bytes(v));
      }
    }
    return std::max(0.0, buffers.most() - stored);
  }

  /// B with W behind it, beyond `stored`, and what is there between them.
  void run_backward(double stored, LayerBytes& bytes) const {
    std::vector<bool> there = kept_values(list_, Recompute::none);
    Buffers buffers(stored);
    Gradients gradients(list_.values.size(), buffers);
    if (list_.output) gradients.make(*list_.output, gradient_bytes(*list_.output));
    for (std::size_t i = list_.operators.size(); i-- > 0;) {
      const Operator& op = list_.operators[i];
      const Needs needs = needs_of(op, list_, Recompute::none);
      if (needs.made_again && op.output) make_again(of(*op.output), there, buffers);
      const double copy = narrow_copy(op);
      if (copy > 0.0) gradients.replace(*op.output, copy);
      for (const ValueIndex input : op.inputs) {
        const std::optional<ValueIndex> gelu = gelu_before(i);
        if (gelu) make_again(input, there, buffers);
        give_gradient(op, gelu.value_or(input), gradients);
      }
      if (op.as<op::SelfAttention>() != nullptr) buffers.drop(statistics(op));
      for (const ValueIndex read : needs.backward_input) drop_read(of(read), i, there, buffers);
      const bool is_done = op.output && !op.in_place() && !memory_use(op).keeps_gradient &&
                           list_.input != *op.output;
      if (is_done) gradients.drop(*op.output);
    }
    const double result =
        list_.input && gradients.has(*list_.input) ? gradient_bytes(*list_.input) : 0.0;
    bytes.deferred = buffers.held() - result;
    bytes.workspace = std::max(bytes.forward_workspace, buffers.most() - stored);
  }

 private:
  ValueIndex of(ValueIndex v) const { return holder_of(list_, v); }
  double size(ValueIndex v) const {
    const Value& value = list_.values[v];
    return member_part(value, degree_) * static_cast<double>(value.rows * value.columns);
  }
  double value_bytes(ValueIndex v) const {
    return size(v) * (list_.values[v].element == Element::fp32 ? 4.0 : compute_bytes_);
  }
  /// Gradients of whole values are fp32, since those of the members are added up.
  double gradient_bytes(ValueIndex v) const {
    const Value& value = list_.values[v];
    const bool is_added_up = value.is_whole() && !(degree_ == 1 && has_narrow_gradient(list_, v));
    const bool wide = is_added_up || value.element == Element::fp32;
    return size(v) * (wide ? 4.0 : compute_bytes_);
  }
  double statistics(const Operator& op) const {
    return statistics_bytes(op, list_, Recompute::none, degree_);
  }
  /// A product whose result has an fp32 gradient multiplies a copy of it in its own type, in B and
  /// in W.
  double narrow_copy(const Operator& op) const {
    const auto* linear = op.as<op::Linear>();
    if (linear == nullptr || linear->full || !op.output || compute_bytes_ == 4.0) return 0.0;
    return gradient_bytes(*op.output) > size(*op.output) * compute_bytes_
               ? size(*op.output) * compute_bytes_
               : 0.0;
  }
  /// The input of GELU right in front of operator `i`, a product that alone reads it: one kernel
  /// passes both.
  std::optional<ValueIndex> gelu_before(std::size_t i) const {
    if (i == 0 || list_.operators[i].as<op::Linear>() == nullptr) return std::nullopt;
    const Operator& before = list_.operators[i - 1];
    const auto* activate = before.as<op::Activate>();
    const bool is_read = activate != nullptr && before.output == list_.operators[i].inputs.front();
    if (!is_read || activate->activation != Activation::gelu_tanh) return std::nullopt;
    return before.inputs.front();
  }
  static bool makes_value(const Operator& op) {
    return !op.in_place() && memory_use(op).makes_value;
  }
  /// The last operator that reads or writes a value or what lies in its memory; nothing where none
  /// does.
  std::optional<std::size_t> last_use(ValueIndex v) const {
    std::optional<std::size_t> last;
    if (of(v) != v) return last;
    for (std::size_t i = 0; i < list_.operators.size(); ++i) {
      const Operator& op = list_.operators[i];
      // A product that a sum takes the place of goes on as the sum.
      const bool taken = op.as<op::Addition>() != nullptr && op.inputs.back() == v;
      if (taken) return std::nullopt;
      const bool reads = std::any_of(op.inputs.begin(), op.inputs.end(),
                                     [&](ValueIndex read) { return of(read) == v; });
      if (reads || op.output == v) last = i;
    }
    return last;
  }
  void make_again(ValueIndex v, std::vector<bool>& there, Buffers& buffers) const {
    if (there[v]) return;
    there[v] = true;
    buffers.add(value_bytes(v));
  }
  /// B of an operator gives the gradient of an input: that of its result, or a new one. A gradient
  /// that is there already becomes the sum, in new memory where others read it.
  void give_gradient(const Operator& op, ValueIndex v, Gradients& gradients) const {
    if (are_samples(list_, v) || (op.in_place() && v == *op.output)) return;
    if (passes_gradient(op) && op.output && gradients.has(*op.output)) {
      if (!gradients.has(v)) gradients.share(v, *op.output);
    } else if (!gradients.is_own(v)) {
      gradients.drop(v);
      gradients.make(v, gradient_bytes(v));
    }
  }
  bool is_read_by_weight(ValueIndex v) const {
    return std::find(read_by_weight_.begin(), read_by_weight_.end(), v) != read_by_weight_.end();
  }
  /// B runs against the order: the first operator that reads a value is the last one there.
  void drop_read(ValueIndex v, std::size_t i, std::vector<bool>& there, Buffers& buffers) const {
    for (std::size_t k = 0; k < i; ++k) {
      const Needs earlier = needs_of(list_.operators[k], list_, Recompute::none);
      const auto reads = [&](ValueIndex read) { return of(read) == v; };
      if (std::any_of(earlier.backward_input.begin(), earlier.backward_input.end(), reads)) return;
    }
    if (!there[v] || is_read_by_weight(v)) return;
    there[v] = false;
    buffers.drop(value_bytes(v));
  }

  const OperatorList& list_;
  double compute_bytes_;
  int degree_;
  std::vector<ValueIndex> read_by_weight_;
};

}  // namespace

LayerBytes held_bytes(const OperatorList& list, double compute_bytes, int degree) {
  const MemberLayer layer(list, compute_bytes, degree);
  LayerBytes bytes;
  bytes.stored = layer.stored(Recompute::none);
  bytes.recomputed = std::max(0.0, bytes.stored - layer.stored(Recompute::selective));
  bytes.forward_workspace = layer.forward_workspace(bytes.stored);
  layer.run_backward(bytes.stored, bytes);
  return bytes;
}

}  // namespace pptrain
