#include "nn/parameter_store.hpp"

#include <algorithm>
#include <cmath>

#include "base/error.hpp"
#include "base/random.hpp"
#include "kernels/kernels.hpp"

namespace pptrain {
namespace {

/// Parameters start on cache lines.
constexpr std::size_t alignment_elements = 16;

std::size_t aligned(std::size_t n) { return (n + alignment_elements - 1) / alignment_elements * alignment_elements; }

bool ends_with(const std::string& text, const std::string& end) {
  return text.size() >= end.size() && text.compare(text.size() - end.size(), end.size(), end) == 0;
}

}  // namespace

std::size_t ParameterStore::add(ChunkId chunk, const ParameterSpec& spec, Interval part, std::int64_t axis_size) {
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    if (parameters_[i].spec.name == spec.name) return i;
  }
  LocalParameter parameter;
  parameter.spec = spec;
  parameter.chunk = chunk;
  parameter.elements = spec.shard_elements(part, axis_size);
  std::int64_t count = 0;
  for (const Interval& run : parameter.elements) count += run.size();
  const bool is_matrix = spec.shape.size() == 2;
  const bool columns_sharded = spec.axis != ShardAxis::none && spec.dimension == 1;
  parameter.columns = static_cast<std::size_t>(!is_matrix        ? count
                                               : columns_sharded ? count / spec.shape[0]
                                                                 : spec.shape[1]);
  parameter.rows = parameter.columns == 0 ? 0 : static_cast<std::size_t>(count) / parameter.columns;
  parameter.offset = size_;
  size_ += aligned(parameter.size());
  parameters_.push_back(std::move(parameter));
  return parameters_.size() - 1;
}

void ParameterStore::allocate(Arena& arena, DType compute_type) {
  weights_ = Tensor(arena, 1, size_);
  gradients_ = Tensor(arena, 1, size_);
  kernels::fill_zero(weights(), size_);
  kernels::fill_zero(gradients(), size_);
  if (compute_type == DType::bf16) copies_ = Tensor(arena, 1, size_, DType::bf16);
  touched_.assign(parameters_.size(), 0);
}

std::size_t ParameterStore::begin_of(ChunkId chunk) const {
  for (const LocalParameter& parameter : parameters_) {
    if (parameter.chunk == chunk) return parameter.offset;
  }
  return 0;
}

std::size_t ParameterStore::end_of(ChunkId chunk) const {
  std::size_t end = 0;
  for (const LocalParameter& parameter : parameters_) {
    if (parameter.chunk == chunk) end = parameter.offset + aligned(parameter.size());
  }
  return end;
}

Matrix ParameterStore::weight_matrix(std::size_t index) const {
  const LocalParameter& parameter = parameters_[index];
  return {weights() + parameter.offset, parameter.rows, parameter.columns};
}

Matrix ParameterStore::compute_matrix(std::size_t index) const {
  if (!copies_) return weight_matrix(index);
  const LocalParameter& parameter = parameters_[index];
  return {copies() + parameter.offset, parameter.rows, parameter.columns, DType::bf16};
}

bool ParameterStore::accumulates(std::size_t index) {
  const bool before = touched_[index] != 0;
  touched_[index] = 1;
  return before;
}

Matrix ParameterStore::gradient_matrix(std::size_t index) const {
  const LocalParameter& parameter = parameters_[index];
  return {gradients() + parameter.offset, parameter.rows, parameter.columns};
}

float* ParameterStore::adding(std::size_t index) {
  float* gradient = gradients() + parameters_[index].offset;
  if (!accumulates(index)) kernels::fill_zero(gradient, parameters_[index].size());
  return gradient;
}

void ParameterStore::start_step() { std::fill(touched_.begin(), touched_.end(), char{0}); }

void ParameterStore::refresh_copies() {
  if (!copies_) return;
  kernels::convert(weights_, copies_);
}

void ParameterStore::fill(const std::function<void(const ParameterSpec&, Interval, float*)>& values) {
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    float* out = weight(i);
    for (const Interval& run : parameters_[i].elements) {
      values(parameters_[i].spec, run, out);
      out += run.size();
    }
  }
  refresh_copies();
}

void fill_random(ParameterStore& store, std::uint64_t seed, std::int64_t num_blocks) {
  const double residual = 1.0 / std::sqrt(2.0 * static_cast<double>(num_blocks));
  store.fill([&](const ParameterSpec& spec, Interval run, float* out) {
    const auto count = static_cast<std::size_t>(run.size());
    const bool is_matrix = spec.shape.size() == 2;
    if (!is_matrix) {
      const bool is_gain = ends_with(spec.name, ".weight");
      std::fill(out, out + count, is_gain ? 1.0F : 0.0F);
      return;
    }
    const bool is_projection = ends_with(spec.name, ".c_proj.weight");
    const auto deviation = static_cast<float>(0.02 * (is_projection ? residual : 1.0));
    CounterRandom(seed, spec.name).fill_normal(static_cast<std::uint64_t>(run.begin), count, out);
    for (std::size_t i = 0; i < count; ++i) out[i] *= deviation;
  });
}

}  // namespace pptrain
