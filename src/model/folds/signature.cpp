#include <fmt/format.h>

#include <string>
#include <vector>

#include "base/one_of.hpp"
#include "model/folds/layer_folds.hpp"

namespace pptrain {
namespace {

template <class T>
std::string numbers(const std::vector<T>& values) {
  std::string result;
  for (const T value : values) result += std::to_string(value) + ",";
  return result;
}

std::string text(const AxisDivision& division) {
  return fmt::format("{}/{}/{}/{}", to_string(division.axis), division.groups, division.unit,
                     division.sharing);
}

std::string text(const Value& value) {
  return fmt::format("{}x{}:{}:{}", value.rows, value.columns, static_cast<int>(value.element),
                     text(value.divided));
}

std::string text(const ParameterSpec& spec) {
  return fmt::format("{}:{}:{}:{}", numbers(spec.shape), spec.dimension, text(spec.division()),
                     to_string(spec.row_axis));
}

std::string text(const NormForm& form) {
  return fmt::format("{}:{}:{}", static_cast<int>(form.kind), form.epsilon, form.one_plus);
}

std::string text(const ExpertForm& form) {
  return fmt::format("{}:{}:{}", form.experts, form.chosen, form.divided);
}

std::string text(const RotaryForm& f) {
  return fmt::format("{}:{}:{}:{}:{}:{}:{}{}", f.theta, f.rotated, static_cast<int>(f.scaling),
                     f.factor, f.low_frequency_factor, f.high_frequency_factor, f.original_length,
                     f.scaling == RotaryForm::Scaling::yarn
                         ? fmt::format(":{}:{}:{}:{}", f.fast_turns, f.slow_turns, f.whole_pairs,
                                       f.attention_factor)
                         : "");
}

std::string text(const DistanceBuckets& b) {
  return b.count == 0 ? "" : fmt::format(":{}:{}:{}", b.count, b.largest, b.both_sides);
}

std::string text(const Window& w) {
  return fmt::format("{}:{}:{}:{}:{}:{}", w.height, w.width, w.kernel_height, w.kernel_width,
                     w.stride, w.padding);
}

std::string text(const MapSize& map) { return fmt::format("{}x{}", map.height, map.width); }

/// What tells operators of one kind apart, beside their values and parameters.
std::string dimensions(const Operator& op) {
  return std::visit(
      overloaded{
          [](const op::Embedding& e) {
            return fmt::format("{}:{}{}", e.positions, e.first_position,
                               e.token_types ? ":types"
                               : e.decoder   ? ":decoder"
                                             : "");
          },
          [](const op::Scaling& s) { return fmt::format("{}", s.factor); },
          [](const op::Norm& n) { return fmt::format("{}:{}", text(n.form), n.width); },
          [](const op::Linear& l) {
            return fmt::format("{}:{}:{}{}", static_cast<int>(l.division), l.bias, l.padded,
                               l.full ? ":full" : "");
          },
          [](const op::Rotary& r) {
            return fmt::format("{}:{}:{}", text(r.form), r.head_size, r.packed);
          },
          [](const op::SelfAttention& a) {
            return fmt::format("{}:{}:{}:{}:{}{}{}", a.heads, a.key_heads, a.head_size, a.scale,
                               a.window, a.causal ? "" : ":all", text(a.buckets)) +
                   (a.span > 0 ? fmt::format(":{}", a.span) : "") +
                   (a.cap > 0.0 ? fmt::format(":cap {}", a.cap) : "");
          },
          [](const op::Activate& a) { return fmt::format("{}", static_cast<int>(a.activation)); },
          [](const op::Gate& g) { return fmt::format("{}", static_cast<int>(g.activation)); },
          [](const op::Addition& a) { return fmt::format("{}", a.bias); },
          [](const op::Loss& l) {
            return l.cap > 0.0 ? fmt::format("cap {}", l.cap) : std::string();
          },
          [](const op::Dropout& d) { return fmt::format("{}", d.rate); },
          [](const op::Split& s) { return fmt::format("{}", s.first); },
          [](const op::Router& r) {
            return fmt::format("{}:{}:{}", text(r.form), r.normalised, r.capacity);
          },
          [](const op::Dispatch& d) { return text(d.form); },
          [](const op::ExpertLinear& e) {
            return fmt::format("{}:{}", text(e.form), static_cast<int>(e.division()));
          },
          [](const op::WeightedGate& g) {
            return fmt::format("{}:{}", text(g.form), static_cast<int>(g.activation));
          },
          [](const op::Combine& c) { return text(c.form); },
          [](const op::ExpertBalance& b) { return text(b.form); },
          [](const op::SendChoices& s) { return text(s.form); },
          [](const op::SendRows& s) { return text(s.form); },
          [](const op::ReturnRows& r) { return text(r.form); },
          [](const op::Convolution& c) {
            return fmt::format("{}:{}:{}", text(c.window), c.bias, static_cast<int>(c.division));
          },
          [](const op::BatchNorm& n) { return fmt::format("{}:{}", n.epsilon, n.momentum); },
          [](const op::Enlarge& e) {
            return fmt::format("{}:{}", static_cast<int>(e.kind), text(e.map));
          },
          [](const op::Tiles& t) { return fmt::format("{}:{}:{}", text(t.map), t.side, t.back); },
          [](const op::Pool& p) {
            return fmt::format("{}:{}", static_cast<int>(p.kind), text(p.window));
          },
          [](const one_of<op::Enter, op::Sum, op::Features, op::Conversion, op::Gather, op::Take,
                          op::Join, op::ClassToken, op::Flatten, op::Reshape, op::Places,
                          op::SquareLoss> auto&) { return std::string(); }},
      op.kind);
}

std::string text(const OperatorList& list) {
  std::string result;
  for (const Value& value : list.values) result += text(value) + ";";
  for (const Operator& op : list.operators) {
    result += fmt::format("{}({})[{}][{}]>{};", op.kind.index(), dimensions(op), numbers(op.inputs),
                          numbers(op.parameters), op.output ? static_cast<long>(*op.output) : -1L);
  }
  return result;
}

}  // namespace

std::string signature_of(const Layer& layer) {
  std::string result;
  for (const ParameterSpec& spec : layer.parameters) result += text(spec) + ";";
  result += text(layer.operators);
  for (const auto& [division, list] : layer.other_divisions) result += text(list);
  return result;
}

}  // namespace pptrain
