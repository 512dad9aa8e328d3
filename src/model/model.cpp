#include "model/model.hpp"

#include <algorithm>
#include <functional>
#include <numeric>
#include <set>

#include "base/error.hpp"

namespace pptrain {

const std::vector<ShardAxis>& shard_axes() {
  static const std::vector<ShardAxis> axes = {ShardAxis::heads,      ShardAxis::columns,
                                              ShardAxis::vocabulary, ShardAxis::classes,
                                              ShardAxis::inputs,     ShardAxis::experts};
  return axes;
}

const std::vector<std::string>& shard_axis_names() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> made;
    for (const ShardAxis axis : shard_axes()) made.push_back(to_string(axis));
    return made;
  }();
  return names;
}

std::string to_string(ShardAxis axis) {
  switch (axis) {
    case ShardAxis::none: return "none";
    case ShardAxis::heads: return "heads";
    case ShardAxis::columns: return "columns";
    case ShardAxis::vocabulary: return "vocabulary";
    case ShardAxis::classes: return "classes";
    case ShardAxis::inputs: return "inputs";
    case ShardAxis::experts: return "experts";
  }
  return "";
}

namespace {

std::int64_t product(const std::vector<std::int64_t>& shape, std::size_t begin, std::size_t end) {
  return std::accumulate(shape.begin() + static_cast<std::ptrdiff_t>(begin),
                         shape.begin() + static_cast<std::ptrdiff_t>(end), std::int64_t{1},
                         std::multiplies<>());
}

}  // namespace

std::int64_t ParameterSpec::size() const { return product(shape, 0, shape.size()); }

ParameterSpec ParameterSpec::divided_by(WeightDivision division) const {
  ParameterSpec spec = *this;
  if (division == WeightDivision::experts || division == WeightDivision::exchange) {
    if (expert >= 0) {
      spec.axis = ShardAxis::experts;
    } else if (division == WeightDivision::exchange) {
      spec.axis = ShardAxis::none;
    }
    return spec;
  }
  if (row_axis == ShardAxis::none || division == WeightDivision::columns) return spec;
  // The inputs of weights are divided; every member has the bias.
  const bool divided = division == WeightDivision::rows && shape.size() == 2;
  spec.axis = divided ? row_axis : ShardAxis::none;
  spec.dimension = divided ? 1 : 0;
  return spec;
}

std::vector<Interval> ParameterSpec::shard_elements(Interval part, std::int64_t axis_size) const {
  if (axis == ShardAxis::none) return {{0, size()}};
  if (axis == ShardAxis::experts) {
    return part.contains(expert) ? std::vector<Interval>{{0, size()}} : std::vector<Interval>{};
  }
  const auto sharded = static_cast<std::size_t>(dimension);
  const std::int64_t outer = product(shape, 0, sharded);
  const std::int64_t inner = product(shape, sharded + 1, shape.size());
  const std::int64_t units = axis_size / sharing;
  PPTRAIN_ASSERT(groups * units * unit == shape[sharded],
                 "{}: axis of {} does not fill dimension {} of {}", name, axis_size, dimension,
                 shape[sharded]);
  const Interval own = division().units(part);
  std::vector<Interval> elements;
  for (std::int64_t o = 0; o < outer; ++o) {
    for (std::int64_t g = 0; g < groups; ++g) {
      const std::int64_t row = o * shape[sharded] + g * units * unit;
      const Interval run = {(row + own.begin * unit) * inner, (row + own.end * unit) * inner};
      if (!elements.empty() && elements.back().end == run.begin) {
        elements.back().end = run.end;
      } else if (!run.empty()) {
        elements.push_back(run);
      }
    }
  }
  return elements;
}

Port Boundary::packed() const {
  if (ports.size() == 1) return ports.front();
  Port all = {1, 0, "ports"};
  for (const Port& port : ports) all.columns += port.elements();
  return all;
}

std::int64_t Layer::num_parameters() const {
  std::int64_t sum = 0;
  for (const ParameterSpec& parameter : parameters) sum += parameter.size();
  return sum;
}

const OperatorList& Layer::divided_by(WeightDivision division) const {
  const auto other = other_divisions.find(division);
  return other != other_divisions.end() ? other->second : operators;
}

bool Layer::reads_decoder_tokens() const {
  return std::any_of(operators.operators.begin(), operators.operators.end(),
                     [](const Operator& op) {
                       const auto* embedding = op.as<op::Embedding>();
                       return embedding != nullptr && embedding->decoder;
                     });
}

std::int64_t Model::num_parameters() const {
  std::int64_t sum = 0;
  for (const ParameterSpec& parameter : logical_parameters(*this)) sum += parameter.size();
  return sum;
}

std::vector<ParameterSpec> logical_parameters(const Model& model) {
  std::vector<ParameterSpec> parameters;
  std::set<std::string> seen;
  for (const Layer& layer : model.layers) {
    for (const ParameterSpec& spec : layer.parameters) {
      if (seen.insert(spec.name).second) parameters.push_back(spec);
    }
  }
  return parameters;
}

std::vector<ParameterSpec> stored_tensors(const Model& model) {
  std::vector<ParameterSpec> tensors = logical_parameters(model);
  for (const Layer& layer : model.layers)
    tensors.insert(tensors.end(), layer.buffers.begin(), layer.buffers.end());
  return tensors;
}

std::map<std::string, std::int64_t> axes_of(const Model& model) {
  std::map<std::string, std::int64_t> axes;
  for (const ShardAxis axis : shard_axes()) {
    if (model.axis_size(axis) > 0) axes[to_string(axis)] = model.axis_size(axis);
  }
  return axes;
}

std::int64_t Model::axis_size(ShardAxis axis) const {
  if (axis == ShardAxis::none) return 1;
  const auto length = axes.find(axis);
  return length != axes.end() ? length->second : 0;
}

std::int64_t Model::divided_units() const {
  for (const ShardAxis axis : {ShardAxis::heads, ShardAxis::columns}) {
    if (axes.contains(axis)) return axis_size(axis);
  }
  return axis_size(ShardAxis::classes);
}

std::int64_t Model::most_members() const {
  std::int64_t most = divided_units();
  // What may be divided along one axis or another needs no position of either.
  if (std::any_of(layers.begin(), layers.end(),
                  [](const Layer& layer) { return layer.has_division(WeightDivision::rows); }))
    return most;
  for (const auto& [axis, length] : axes) {
    if (axis != ShardAxis::experts) most = std::min(most, length);
  }
  return most;
}

std::vector<int> Model::tensor_parallel_degrees() const {
  const std::int64_t most =
      std::min<std::int64_t>(axes.contains(ShardAxis::heads) ? 8 : 32, most_members());
  std::vector<int> degrees;
  for (int n = 1; n <= most && divided_units() % n == 0; n *= 2) degrees.push_back(n);
  return degrees;
}

std::vector<SharedParameter> Model::shared_parameters() const {
  std::vector<SharedParameter> all;
  std::map<std::string, std::size_t> places;
  for (std::size_t l = 0; l < layers.size(); ++l) {
    for (const ParameterSpec& spec : layers[l].parameters) {
      const auto [place, is_new] = places.emplace(spec.name, all.size());
      if (is_new) all.push_back({&spec, {}});
      all[place->second].layers.push_back(static_cast<std::int64_t>(l));
    }
  }
  std::erase_if(all, [](const SharedParameter& parameter) { return parameter.layers.size() == 1; });
  return all;
}

std::int64_t Layer::num_experts() const {
  for (const Operator& op : operators.operators) {
    if (const auto* router = op.as<op::Router>()) return router->form.experts;
  }
  return 0;
}

bool Model::routes() const {
  return std::any_of(layers.begin(), layers.end(),
                     [](const Layer& layer) { return layer.num_experts() > 0; });
}

double Model::flop_per_sample() const {
  double sum = 0.0;
  for (const Layer& layer : layers)
    sum += layer.flop_forward + layer.flop_backward_input + layer.flop_backward_weight;
  return sum;
}

}  // namespace pptrain
