#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/ids.hpp"
#include "kernels/kernels.hpp"
#include "model/model.hpp"
#include "nn/parameters/buffer_store.hpp"
#include "tensor/tensor.hpp"

namespace pptrain {

/// What one device holds of a logical parameter.
struct LocalParameter {
  ParameterSpec spec;
  Interval part;                   ///< of the axis along which the parameter is divided
  std::int64_t axis_size = 1;      ///< length of the axis of `part`
  std::vector<Interval> elements;  ///< of the flattened whole, in local order
  std::size_t rows = 1;            ///< local shape; vectors have one row
  std::size_t columns = 1;
  std::size_t offset = 0;         ///< of the first element in the store
  std::size_t unit = 0;           ///< the layer it was registered for
  std::size_t among_vectors = 0;  ///< offset of a vector in an array of nothing but vectors
  /// Elements of the shard.
  std::size_t size() const { return rows * columns; }
  /// Whether the parameter has one dimension, as biases and gains do.
  bool is_vector() const { return spec.shape.size() == 1; }
};

/// Elements of a cache line, on which parameters start and slices end.
inline constexpr std::int64_t line_elements = 16;

/// Where the first `part` of `parts` equal slices of a unit of `size` elements end, on a cache
/// line: equal fractions are equal places, whatever the number of parts.
std::int64_t slice_end(std::size_t size, std::int64_t part, std::int64_t parts);

/// How the replicas of a shard divide what they hold of the model (Rajbhandari et al., 2020,
/// "ZeRO"): stage 1 the optimizer state, 2 also the gradients, 3 also the weights. Where they do so
/// in groups, of one group.
struct ReplicaSharding {
  int zero_stage = 0;
  int replica = 0;  ///< this one, in its group
  int replicas = 1;
  /// The slice of each, as an interval of a whole that ends with the last one; empty: equal ones.
  std::vector<Interval> slices = {};

  /// Whether a replica keeps the optimizer state of its own slices alone.
  bool shards_optimizer() const { return zero_stage >= 1 && replicas > 1; }
  /// Whether a replica keeps the summed gradients of its own slices alone.
  bool shards_gradients() const { return zero_stage >= 2 && replicas > 1; }
  /// Whether a replica keeps the weights of its own slices alone, and gathers others when they are
  /// needed.
  bool shards_weights() const { return zero_stage >= 3 && replicas > 1; }
};

/// The choice of gradients of a unit, where replicas divide them, that a sum over the replicas
/// takes.
enum class UnitGradients {
  matrices,  ///< after each backward pass, so that they need no memory
  all  ///< with vectors, whose gradients B gives and W does not: once, behind the last pass of a
       ///< step
};

/// What this device updates of one parameter.
struct OwnPart {
  std::size_t parameter = 0;
  std::size_t size = 0;
  float* weights = nullptr;
  const float* gradients = nullptr;
  Matrix copies;           ///< of the compute type; nothing where that is fp32
  std::int64_t begin = 0;  ///< of the first element, in the local order of the parameter
};

/// Weights and gradients of everything a device holds, fp32. With activations in 16 bits there is
/// also such a copy of the weights, kept up to date by the optimizer.
///
/// The parameters of a layer are a *unit*: a flat array, each at its offset; some that layers share
/// are units of their own (`add_parameters`). Replicas divide units into slices, one each. What
/// they do not divide lies in one array over all units; of what they divide a store keeps its own
/// slices, and whole units only while they are needed.
class ParameterStore {
 public:
  /// Begins the unit of the next layer; parameters are added to it.
  void start_unit(ChunkId chunk);
  /// Registers the shard `part` of a parameter and returns its index; a parameter registered
  /// before under the same name (a tied embedding) is shared.
  std::size_t add(const ParameterSpec& spec, Interval part, std::int64_t axis_size);

  /// Allocates after the last `add`; the arena and its device's kernels must outlive the store.
  void allocate(Arena& arena, Kernels& kernels, DType compute_type,
                const ReplicaSharding& sharding = {});
  /// Allocates after the last `add` for a model that is only computed forward: there is no room for
  /// gradients. The arena and its device's kernels must outlive the store.
  void allocate_weights(Arena& arena, Kernels& kernels, DType compute_type);

  /// What the device holds, by the index that `add` returned.
  const std::vector<LocalParameter>& parameters() const { return parameters_; }
  /// What layers keep beside parameters; replicas and members do not divide it.
  BufferStore& buffers() { return buffers_; }
  const BufferStore& buffers() const { return buffers_; }
  /// Index of a parameter by name; nothing when the device does not hold it.
  std::optional<std::size_t> find(const std::string& name) const;
  /// The sharding that `allocate` was told; nothing is divided before.
  const ReplicaSharding& sharding() const { return sharding_; }

  /// Units so far, numbered from 0 in the order of `start_unit`.
  std::size_t num_units() const { return units_.size(); }
  /// The chunk that `start_unit` was told.
  ChunkId chunk_of(std::size_t unit) const { return units_[unit].chunk; }
  std::size_t unit_size(std::size_t unit) const {
    return units_[unit].end - units_[unit].begin;
  }  ///< padding included
  const std::vector<Interval>& slices(std::size_t unit) const {
    return units_[unit].slices;
  }  ///< by replica

  /// What this device updates: all it holds, or its slices.
  std::vector<OwnPart> own_parts() const;

  /// Waits for weights that are on their way (`expect_weights`), as do the two below.
  float* weight(std::size_t index) const;
  Matrix weight_matrix(std::size_t index) const;   ///< fp32
  Matrix compute_matrix(std::size_t index) const;  ///< of the compute type
  /// Weights of the whole unit, `unit_size` values; null while it is divided and not gathered. Does
  /// not wait.
  float* unit_weights(std::size_t unit) const { return units_[unit].weights; }

  /// Layers of this chunk add to gradients from now on. What another chunk than its unit's gives a
  /// parameter that both read is kept apart until `join_gradients`: how tasks of chunks alternate
  /// must not decide in which order is summed.
  void enter(ChunkId chunk) { adding_ = chunk; }
  /// The unit's chunk has what all chunks give of its parameters: adds up what is apart, chunk by
  /// chunk.
  void join_gradients(std::size_t unit);
  /// Gradients are not cleared: the first contribution of a step overwrites. Returns whether this
  /// gradient already holds something, so that a product must accumulate.
  bool accumulates(std::size_t index);
  /// Place to which layers of the entered chunk add a gradient, fp32 and of the local shape;
  /// `accumulates` says whether it holds something.
  Matrix gradient_matrix(std::size_t index);
  /// For kernels that always add: cleared on first use in a step.
  float* adding(std::size_t index);
  /// Gradients of the whole unit, `unit_size` values. Where gradients are divided, room is made if
  /// need be, and those of vectors lie elsewhere until `take_gradients`.
  float* unit_gradients(std::size_t unit) { return whole_gradients(units_[unit]); }
  /// The place of a parameter's gradient among those of its unit, where sums over the replicas lie.
  Matrix gradient_in_unit(std::size_t index);
  /// Starts the next step: all gradients count as empty.
  void start_step();

  /// Divided weights: makes room for a whole unit with this replica's slice in it, before the
  /// others' slices come.
  void begin_gather(std::size_t unit);
  float* gathered_weights(std::size_t unit) const {
    return units_[unit].whole_weights.f32();
  }  ///< the room
  /// Divided weights: lets a whole unit be used, once the others' slices have come.
  void end_gather(std::size_t unit);
  void drop_weights(std::size_t unit);  ///< gives the room back to the arena

  /// Whether a sum over the replicas of `which` gradients of a unit takes the parameter's.
  bool is_among(const LocalParameter& parameter, std::size_t unit, UnitGradients which) const {
    return parameter.unit == unit && (which == UnitGradients::all || !parameter.is_vector());
  }
  /// Divided gradients: whether the unit has some that are not summed over the replicas yet; hands
  /// them out. Vectors go with the last ones of a step alone: B of other micro-batches may have
  /// added to theirs since, or not, as the order of tasks has it, and sums must not depend on that
  /// order.
  bool has_gradients(std::size_t unit, UnitGradients which) const;
  /// Gradients of the whole unit, of which those of `which` are valid; in the store they count as
  /// empty then.
  Tensor take_gradients(std::size_t unit, UnitGradients which = UnitGradients::all);
  /// Adds this replica's slice of a unit's summed gradients, or sets it.
  void add_own_gradients(std::size_t unit, const float* slice);
  void set_own_gradients(std::size_t unit, const float* slice);
  /// This replica's slice of the unit's gradients, where they are divided.
  float* own_gradients(std::size_t unit) const {
    return gradients_.f32() + units_[unit].own_offset;
  }

  /// The other replicas' slices of a unit are on their way: `arrive` is called before any of its
  /// weights is read.
  void expect_weights(std::size_t unit, std::function<void()> arrive);

  /// Brings the 16-bit copies up to date with the weights, where both are whole.
  void refresh_copies();
  /// Brings the copies of one unit up to date.
  void refresh_copies(std::size_t unit);

  /// Copies n elements within the device's memory.
  void copy(float* to, const float* from, std::int64_t n) const;

  /// Sets every weight and buffer from `values(spec, interval of the flattened whole, output)`,
  /// output in memory of the host.
  void fill(const std::function<void(const ParameterSpec&, Interval, float*)>& values);

 private:
  struct Unit {
    ChunkId chunk;
    std::size_t begin = 0;  ///< offset of its first parameter
    std::size_t end = 0;
    std::vector<Interval> slices;
    std::size_t own_offset = 0;  ///< of this replica's slice in an array of nothing but such slices
    bool own_gradients = false;  ///< the slice of the gradients holds something of this step
    float* weights = nullptr;    ///< of the whole unit; null while it is not at hand
    float* gradients = nullptr;  ///< of the whole unit; null while it is not at hand
    Matrix copies;               ///< of the whole unit; nothing while it is not at hand
    mutable std::function<void()> arrive;  ///< waits for the weights; none: they are there, or not
                                           ///< at hand
    Tensor whole_weights;                  ///< of divided weights
    Tensor whole_copies;                   ///< of divided weights
    Tensor whole_gradients;                ///< of divided gradients
    /// This replica's slice, counted within the unit.
    Interval own(const ReplicaSharding& sharding) const {
      return slices[static_cast<std::size_t>(sharding.replica)];
    }
  };

  const Unit& unit_of(std::size_t parameter) const { return units_[parameters_[parameter].unit]; }
  const Unit& arrived_unit_of(std::size_t parameter) const;
  bool has_copies() const { return compute_type_ != DType::f32; }
  void begin_allocation(Arena& arena, Kernels& kernels, DType compute_type,
                        const ReplicaSharding& sharding);
  void divide_units();
  std::size_t own_size() const;
  float* whole_gradients(Unit& unit);
  float* gradient(std::size_t index);
  float* unit_gradient(std::size_t index);
  void keep_apart(std::size_t shared);

  /// What another chunk than its unit's gives of the gradient of a parameter.
  struct Apart {
    std::size_t parameter;
    ChunkId chunk;
    Tensor gradients;
    bool touched = false;  ///< in this step
  };
  Apart* apart(std::size_t index);

  std::vector<LocalParameter> parameters_;
  std::vector<Apart> apart_;  ///< chunk by chunk
  ChunkId adding_;            ///< the chunk whose layers add to gradients
  BufferStore buffers_;
  std::vector<char> touched_;
  std::vector<Unit> units_;
  Arena* arena_ = nullptr;
  Kernels* kernels_ = nullptr;
  DType compute_type_ = DType::f32;
  ReplicaSharding sharding_;
  std::size_t size_ = 0;
  Tensor weights_;    // of all units, or this replica's slices
  Tensor gradients_;  // of all units, or this replica's slices
  Tensor copies_;     // of all units, where weights are not divided
  /// Divided gradients: those of vectors, of all micro-batches of a step.
  Tensor vector_gradients_;
};

/// Initial weights from counter-based random numbers, the same for every division: matrices normal
/// with the deviation of their specification; gains 1 or 0 and biases 0, as the specification says.
void fill_random(ParameterStore& store, std::uint64_t seed);

}  // namespace pptrain
