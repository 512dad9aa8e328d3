#include "nn/parameters/parameter_store.hpp"

#include <algorithm>
#include <utility>

#include "base/error.hpp"
#include "base/parallel_for.hpp"
#include "base/random.hpp"

namespace pptrain {
namespace {

std::size_t aligned(std::size_t n) {
  constexpr std::size_t line = line_elements;
  return (n + line - 1) / line * line;
}

}  // namespace

std::int64_t slice_end(std::size_t size, std::int64_t part, std::int64_t parts) {
  return static_cast<std::int64_t>(size) / line_elements * part / parts * line_elements;
}

void ParameterStore::start_unit(ChunkId chunk) {
  Unit unit;
  unit.chunk = chunk;
  unit.begin = unit.end = size_;
  units_.push_back(std::move(unit));
}

std::optional<std::size_t> ParameterStore::find(const std::string& name) const {
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    if (parameters_[i].spec.name == name) return i;
  }
  return std::nullopt;
}

std::size_t ParameterStore::add(const ParameterSpec& spec, Interval part, std::int64_t axis_size) {
  if (const auto shared = find(spec.name)) {
    keep_apart(*shared);
    return *shared;
  }
  LocalParameter parameter;
  parameter.spec = spec;
  parameter.unit = units_.size() - 1;
  parameter.part = part;
  parameter.axis_size = axis_size;
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
  units_.back().end = size_;
  parameters_.push_back(std::move(parameter));
  return parameters_.size() - 1;
}

void ParameterStore::keep_apart(std::size_t shared) {
  const ChunkId chunk = units_.back().chunk;
  const bool is_known = std::any_of(apart_.begin(), apart_.end(), [&](const Apart& apart) {
    return apart.parameter == shared && apart.chunk == chunk;
  });
  if (unit_of(shared).chunk != chunk && !is_known) apart_.push_back({shared, chunk, {}});
}

void ParameterStore::divide_units() {
  std::vector<Interval> shares = sharding_.slices;
  if (shares.empty()) shares = even_division(sharding_.replicas, sharding_.replicas);
  const std::int64_t whole = shares.back().end;
  std::size_t offset = 0;
  for (Unit& unit : units_) {
    const std::size_t size = unit.end - unit.begin;
    if (!sharding_.shards_optimizer()) {
      unit.slices.assign(shares.size(), {0, static_cast<std::int64_t>(size)});
      continue;
    }
    for (const Interval& share : shares) {
      unit.slices.push_back(
          {slice_end(size, share.begin, whole), slice_end(size, share.end, whole)});
    }
    unit.own_offset = offset;
    offset += static_cast<std::size_t>(unit.own(sharding_).size());
  }
}

std::size_t ParameterStore::own_size() const {
  std::size_t size = 0;
  for (const Unit& unit : units_) size += static_cast<std::size_t>(unit.own(sharding_).size());
  return size;
}

void ParameterStore::begin_allocation(Arena& arena, Kernels& kernels, DType compute_type,
                                      const ReplicaSharding& sharding) {
  arena_ = &arena;
  kernels_ = &kernels;
  compute_type_ = compute_type;
  sharding_ = sharding;
  divide_units();
  weights_ = Tensor(arena, 1, sharding.shards_weights() ? own_size() : size_);
  kernels_->fill_zero(weights_.f32(), weights_.size());
  if (has_copies() && !sharding.shards_weights()) copies_ = Tensor(arena, 1, size_, compute_type);
  for (Unit& unit : units_) {
    if (!sharding.shards_weights()) unit.weights = weights_.f32() + unit.begin;
    if (copies_) unit.copies = copies_.matrix().columns_from(unit.begin, unit.end - unit.begin);
  }
  touched_.assign(parameters_.size(), 0);
  buffers_.allocate(arena);
}

void ParameterStore::allocate_weights(Arena& arena, Kernels& kernels, DType compute_type) {
  begin_allocation(arena, kernels, compute_type, {});
}

void ParameterStore::allocate(Arena& arena, Kernels& kernels, DType compute_type,
                              const ReplicaSharding& sharding) {
  begin_allocation(arena, kernels, compute_type, sharding);
  gradients_ = Tensor(arena, 1, sharding.shards_gradients() ? own_size() : size_);
  kernels_->fill_zero(gradients_.f32(), gradients_.size());
  for (Unit& unit : units_) {
    if (!sharding.shards_gradients()) unit.gradients = gradients_.f32() + unit.begin;
  }
  std::size_t vectors = 0;
  for (LocalParameter& parameter : parameters_) {
    parameter.among_vectors = vectors;
    if (parameter.is_vector()) vectors += aligned(parameter.size());
  }
  if (sharding.shards_gradients()) vector_gradients_ = Tensor(arena, 1, vectors);
  for (Apart& apart : apart_)
    apart.gradients = Tensor(arena, 1, parameters_[apart.parameter].size());
}

std::vector<OwnPart> ParameterStore::own_parts() const {
  std::vector<OwnPart> parts;
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    const Unit& unit = unit_of(i);
    const Interval own = unit.own(sharding_);
    const auto begin = static_cast<std::int64_t>(parameters_[i].offset - unit.begin);
    const Interval part =
        intersect({begin, begin + static_cast<std::int64_t>(parameters_[i].size())}, own);
    if (part.empty()) continue;
    const auto in_slice = unit.own_offset + static_cast<std::size_t>(part.begin - own.begin);
    parts.push_back(
        {i, static_cast<std::size_t>(part.size()),
         sharding_.shards_weights() ? weights_.f32() + in_slice : unit.weights + part.begin,
         sharding_.shards_gradients() ? gradients_.f32() + in_slice : unit.gradients + part.begin,
         copies_ ? unit.copies.columns_from(static_cast<std::size_t>(part.begin),
                                            static_cast<std::size_t>(part.size()))
                 : Matrix(),
         part.begin - begin});
  }
  return parts;
}

const ParameterStore::Unit& ParameterStore::arrived_unit_of(std::size_t parameter) const {
  const Unit& unit = unit_of(parameter);
  if (unit.arrive) std::exchange(unit.arrive, {})();
  return unit;
}

void ParameterStore::expect_weights(std::size_t unit, std::function<void()> arrive) {
  units_[unit].arrive = std::move(arrive);
}

float* ParameterStore::weight(std::size_t index) const {
  const Unit& unit = arrived_unit_of(index);
  PPTRAIN_ASSERT(unit.weights != nullptr, "the weights of {} are not at hand",
                 parameters_[index].spec.name);
  return unit.weights + (parameters_[index].offset - unit.begin);
}

Matrix ParameterStore::weight_matrix(std::size_t index) const {
  const LocalParameter& parameter = parameters_[index];
  return {weight(index), parameter.rows, parameter.columns};
}

Matrix ParameterStore::compute_matrix(std::size_t index) const {
  const Unit& unit = arrived_unit_of(index);
  if (unit.copies.data == nullptr) return weight_matrix(index);
  const LocalParameter& parameter = parameters_[index];
  const Matrix copy = unit.copies.columns_from(parameter.offset - unit.begin, parameter.size());
  return {copy.data, parameter.rows, parameter.columns, copy.type};
}

float* ParameterStore::whole_gradients(Unit& unit) {
  if (unit.gradients == nullptr) {
    unit.whole_gradients = Tensor(*arena_, 1, unit.end - unit.begin);
    unit.gradients = unit.whole_gradients.f32();
    kernels_->fill_zero(unit.gradients, unit.whole_gradients.size());
  }
  return unit.gradients;
}

ParameterStore::Apart* ParameterStore::apart(std::size_t index) {
  for (Apart& apart : apart_) {
    if (apart.parameter == index && apart.chunk == adding_) return &apart;
  }
  return nullptr;
}

float* ParameterStore::gradient(std::size_t index) {
  if (const Apart* other = apart(index)) return other->gradients.f32();
  return unit_gradient(index);
}

float* ParameterStore::unit_gradient(std::size_t index) {
  const LocalParameter& parameter = parameters_[index];
  if (vector_gradients_ && parameter.is_vector())
    return vector_gradients_.f32() + parameter.among_vectors;
  Unit& unit = units_[parameter.unit];
  return whole_gradients(unit) + (parameter.offset - unit.begin);
}

bool ParameterStore::accumulates(std::size_t index) {
  if (Apart* other = apart(index)) return std::exchange(other->touched, true);
  const bool before = touched_[index] != 0;
  touched_[index] = 1;
  return before;
}

Matrix ParameterStore::gradient_matrix(std::size_t index) {
  return {gradient(index), parameters_[index].rows, parameters_[index].columns};
}

Matrix ParameterStore::gradient_in_unit(std::size_t index) {
  const LocalParameter& parameter = parameters_[index];
  Unit& unit = units_[parameter.unit];
  return {whole_gradients(unit) + (parameter.offset - unit.begin), parameter.rows,
          parameter.columns};
}

float* ParameterStore::adding(std::size_t index) {
  float* values = gradient(index);
  if (!accumulates(index)) kernels_->fill_zero(values, parameters_[index].size());
  return values;
}

void ParameterStore::start_step() {
  std::fill(touched_.begin(), touched_.end(), char{0});
  for (Apart& apart : apart_) apart.touched = false;
  for (Unit& unit : units_) unit.own_gradients = false;
}

void ParameterStore::join_gradients(std::size_t unit) {
  for (Apart& apart : apart_) {
    const LocalParameter& parameter = parameters_[apart.parameter];
    if (parameter.unit != unit || !std::exchange(apart.touched, false)) continue;
    float* sum = unit_gradient(apart.parameter);
    if (std::exchange(touched_[apart.parameter], char{1}) != 0) {
      kernels_->add(apart.gradients.f32(), sum, parameter.size());
    } else {
      copy(sum, apart.gradients.f32(), static_cast<std::int64_t>(parameter.size()));
    }
  }
}

void ParameterStore::copy(float* to, const float* from, std::int64_t n) const {
  arena_->device().copy(to, from, static_cast<std::size_t>(n) * sizeof(float));
}

void ParameterStore::begin_gather(std::size_t index) {
  Unit& unit = units_[index];
  const Interval own = unit.own(sharding_);
  unit.whole_weights = Tensor(*arena_, 1, unit.end - unit.begin);
  copy(unit.whole_weights.f32() + own.begin, weights_.f32() + unit.own_offset, own.size());
}

void ParameterStore::end_gather(std::size_t index) {
  Unit& unit = units_[index];
  unit.weights = unit.whole_weights.f32();
  if (!has_copies()) return;
  unit.whole_copies = Tensor(*arena_, 1, unit.end - unit.begin, compute_type_);
  unit.copies = unit.whole_copies;
  kernels_->convert(unit.whole_weights, unit.whole_copies);
}

void ParameterStore::drop_weights(std::size_t index) {
  Unit& unit = units_[index];
  unit.weights = nullptr;
  unit.copies = {};
  unit.whole_weights.reset();
  unit.whole_copies.reset();
}

bool ParameterStore::has_gradients(std::size_t unit, UnitGradients which) const {
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    if (is_among(parameters_[i], unit, which) && touched_[i] != 0) return true;
  }
  return false;
}

Tensor ParameterStore::take_gradients(std::size_t index, UnitGradients which) {
  whole_gradients(units_[index]);
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    const LocalParameter& parameter = parameters_[i];
    if (!is_among(parameter, index, which)) continue;
    if (parameter.is_vector() && touched_[i] != 0) {
      copy(unit_gradients(index) + (parameter.offset - units_[index].begin), unit_gradient(i),
           static_cast<std::int64_t>(parameter.size()));
    }
    touched_[i] = 0;
  }
  units_[index].gradients = nullptr;
  return std::move(units_[index].whole_gradients);
}

void ParameterStore::add_own_gradients(std::size_t index, const float* slice) {
  Unit& unit = units_[index];
  if (!unit.own_gradients) return set_own_gradients(index, slice);
  kernels_->add(slice, gradients_.f32() + unit.own_offset,
                static_cast<std::size_t>(unit.own(sharding_).size()));
}

void ParameterStore::set_own_gradients(std::size_t index, const float* slice) {
  Unit& unit = units_[index];
  copy(gradients_.f32() + unit.own_offset, slice, unit.own(sharding_).size());
  unit.own_gradients = true;
}

void ParameterStore::refresh_copies() {
  if (copies_) kernels_->convert(weights_, copies_);
}

void ParameterStore::refresh_copies(std::size_t index) {
  const Unit& unit = units_[index];
  if (!copies_) return;
  kernels_->convert(Matrix{unit.weights, 1, unit.end - unit.begin}, unit.copies);
}

void ParameterStore::fill(
    const std::function<void(const ParameterSpec&, Interval, float*)>& values) {
  std::vector<float> host;
  std::size_t i = 0;
  for (std::size_t u = 0; u < units_.size(); ++u) {
    if (sharding_.shards_weights()) {
      begin_gather(u);
      units_[u].weights = units_[u].whole_weights.f32();
    }
    for (; i < parameters_.size() && parameters_[i].unit == u; ++i) {
      host.resize(parameters_[i].size());
      float* out = host.data();
      for (const Interval& run : parameters_[i].elements) {
        values(parameters_[i].spec, run, out);
        out += run.size();
      }
      arena_->device().upload(weight(i), host.data(), host.size() * sizeof(float));
    }
    if (!sharding_.shards_weights()) continue;
    const Interval own = units_[u].own(sharding_);
    copy(weights_.f32() + units_[u].own_offset, units_[u].weights + own.begin, own.size());
    drop_weights(u);
  }
  buffers_.fill(values);
  refresh_copies();
}

void fill_random(ParameterStore& store, std::uint64_t seed) {
  store.fill([&](const ParameterSpec& spec, Interval run, float* out) {
    const auto count = static_cast<std::size_t>(run.size());
    if (spec.initial != Initial::normal) {
      std::fill(out, out + count, spec.initial == Initial::ones ? 1.0F : 0.0F);
      return;
    }
    // A rank with a GPU has cores to spare, and a large matrix takes one of them seconds.
    constexpr std::size_t piece = std::size_t{1} << 18;
    constexpr int most_threads = 16;
    const auto deviation = static_cast<float>(spec.deviation);
    const CounterRandom random(seed, spec.name);
    const auto pieces = static_cast<int>((count + piece - 1) / piece);
    parallel_for(pieces, std::min(most_threads, usable_cores()), [&](int, int p) {
      const std::size_t begin = static_cast<std::size_t>(p) * piece;
      const std::size_t end = std::min(count, begin + piece);
      random.fill_normal(static_cast<std::uint64_t>(run.begin) + begin, end - begin, out + begin);
      for (std::size_t i = begin; i < end; ++i) out[i] *= deviation;
    });
  });
}

}  // namespace pptrain
