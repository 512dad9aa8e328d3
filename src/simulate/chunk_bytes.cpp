#include "simulate/chunk_bytes.hpp"

#include <algorithm>
#include <vector>

#include "cost/stage_time.hpp"

namespace pptrain {
namespace {

/// One layer on one device.
struct LayerOnDevice {
  std::int64_t layer;
  const StagePart* part;
  int replica;
  int shard;
  double samples;  ///< of its `MemberWork`

  const Stage& mesh() const { return *part->mesh; }
  int degree() const { return part->computed_degree(); }
  DeviceId device() const { return mesh().devices[replica][shard]; }
};

template <class Use>
void for_each_layer(const StageParts& parts, int device_of_stage, const Use& use) {
  for (const StagePart& part : parts.all()) {
    const auto [replica, shard] = place_in(*part.mesh, device_of_stage);
    const double samples = member_work(part, replica, shard).samples;
    for (const Interval& layers : part.layers) {
      for (std::int64_t l = layers.begin; l < layers.end; ++l) {
        use(LayerOnDevice{l, &part, replica, shard, samples});
      }
    }
  }
}

std::optional<LayerBytes> measured(const Instance& instance, const LayerOnDevice& on) {
  return instance.profile.bytes(static_cast<int>(on.layer),
                                instance.cluster.kind_of(on.device()).name, on.degree(),
                                on.samples);
}

/// What one layer holds; a chunk is a row of them.
struct LayerUse {
  double kept = 0.0;        ///< from F to B
  double deferred = 0.0;    ///< from B to W
  double forwarding = 0.0;  ///< in all while its F runs
  double running = 0.0;     ///< in all while one of its passes runs
  double weights = 0.0;     ///< whole, where ZeRO stage 3 gathers them for a task
  double gradients = 0.0;   ///< whole, where ZeRO keeps slices
  double summed = 0.0;      ///< these, and the buffers of their sum
  double open = 0.0;        ///< gradients that another layer adds to before they are summed
};

/// What the members of a tensor-parallel group contribute to a sum.
double sum_bytes(const Profile& profile, const LayerOnDevice& on) {
  if (on.degree() == 1 || profile.layers[on.layer].tensor_parallel_allreduce_bytes == 0.0)
    return 0.0;
  return on.samples * profile.layers[on.layer == 0 ? 0 : on.layer - 1].output_bytes;
}

/// Gradients that are summed in buckets.
double with_buffers(const Profile& profile, double gradients) {
  return gradients + std::min(profile.workspace_bytes, gradients);
}

LayerUse use_of(const Instance& instance, const LayerOnDevice& on) {
  const Profile& profile = instance.profile;
  const LayerBytes bytes = *measured(instance, on);
  LayerUse use;
  use.kept = bytes.stored - (on.mesh().recompute == Recompute::selective ? bytes.recomputed : 0.0);
  use.deferred = bytes.deferred;
  use.running = bytes.stored + bytes.workspace + sum_bytes(profile, on);
  use.forwarding = bytes.stored + bytes.forward_workspace + sum_bytes(profile, on);
  if (on.mesh().recompute == Recompute::full && profile.layers[on.layer].repeated) {
    use.kept = std::min(bytes.stored, on.samples * profile.input_bytes(on.layer, on.degree()));
  }
  if (on.mesh().sharding_group_of(on.replica).size() == 1) return use;
  const ProfileLayer& layer = profile.layers[on.layer];
  const double parameters =
      layer.undivided_parameters +
      (layer.parameters - layer.undivided_parameters) / on.mesh().tensor_parallel;
  if (on.mesh().zero_stage >= 2) {
    use.gradients = profile.bytes_per_parameter.gradient * parameters;
    use.summed = with_buffers(profile, use.gradients);
  }
  if (on.mesh().divides_weights() && !on.mesh().gathers_chunks()) {
    use.weights = profile.bytes_per_parameter.weight * parameters;
  }
  return use;
}

/// Layers of a chunk, which are one run where its stage has no blocks.
Interval layers_of(const StageParts& parts) { return parts.all().front().layers.front(); }

/// Bytes of the weights that the first and the last layer of a chunk share, where ZeRO gathers
/// them.
double shared_weights(const Instance& instance, const StageParts& parts,
                      const std::vector<LayerUse>& layers) {
  const Stage& stage = *parts.all().front().mesh;
  if (!stage.blocks.empty() || stage.layers.empty() || layers.front().weights == 0.0) return 0.0;
  const Interval chunk = layers_of(parts);
  const BytesPerParameter& bytes = instance.profile.bytes_per_parameter;
  double sum = 0.0;
  for (const Tie& tie : instance.ties) {
    const bool both = chunk.size() > 1 && tie.num_layers_in({{chunk.begin, chunk.begin + 1}}) > 0 &&
                      tie.num_layers_in({{chunk.end - 1, chunk.end}}) > 0;
    if (both) sum += tie.gradient_bytes(parts.first_mesh()) / bytes.gradient * bytes.weight;
  }
  return sum;
}

/// The gradients of a tied parameter are there from the W of the last of its layers in the chunk to
/// that of the first, which sums them, where the device keeps slices of gradients. Those of later
/// chunks are there all the time.
void share_gradients(const Instance& instance, const StageParts& parts,
                     std::vector<LayerUse>& layers, ChunkBytes& bytes) {
  const Stage& stage = *parts.all().front().mesh;
  if (!stage.blocks.empty() || layers.front().gradients == 0.0)
    return;  // parts have gradients of their own
  const Interval chunk = layers_of(parts);
  for (const Tie& tie : instance.ties) {
    std::vector<std::int64_t> here;  // in the chunk
    for (const std::int64_t layer : tie.layers) {
      if (chunk.contains(layer)) here.push_back(layer);
    }
    const double shared = tie.gradient_bytes(parts.first_mesh());
    const bool is_first_chunk = std::none_of(
        tie.layers.begin(), tie.layers.end(),
        [&](std::int64_t layer) { return layer < chunk.begin && contains(stage.layers, layer); });
    if (is_first_chunk && here.size() < 2) continue;
    for (const std::int64_t layer : here) {
      LayerUse& own = layers[static_cast<std::size_t>(layer - chunk.begin)];
      const bool opens = is_first_chunk && layer == here.back();
      const bool sums = is_first_chunk && layer == here.front();
      own.summed =
          sums ? own.summed - shared : with_buffers(instance.profile, own.gradients - shared);
      (opens ? own.open : own.gradients) += opens ? shared : -shared;
    }
    if (is_first_chunk) bytes.summed += shared;
  }
}

/// The most that is in use while layers run one after another, the last first: `before` counts for
/// those still to come, `after` for those that have run; gathered weights and whole gradients with
/// neighbours where they count.
class Passes {
 public:
  /// `shared_weights`: of the first and the last layer, which are there once.
  Passes(const std::vector<LayerUse>& layers, ChunkBytes::Next next, double shared_weights)
      : layers_(layers), next_(next), shared_weights_(shared_weights) {}

  /// Over the layers of an interval.
  template <class Before, class After, class Own>
  double most(Interval which, const Before& before, const After& after, const Own& own) const {
    const auto begin = static_cast<std::size_t>(which.begin);
    double passed = 0.0;  // by the layers in front
    double left = 0.0;    // by those behind
    for (std::size_t l = 0; l < layers_.size(); ++l) {
      if (l < begin) passed += before(layers_[l]);
      if (l > begin) left += after(layers_[l]);
    }
    double most = 0.0;
    for (std::size_t l = begin; l < static_cast<std::size_t>(which.end); ++l) {
      most = std::max(most, own(l) + passed + left);
      passed += before(layers_[l]);
      if (l + 1 < layers_.size()) left -= after(layers_[l + 1]);
    }
    return most;
  }

  /// Weights of a layer and of the next to run, which is gathered meanwhile.
  double forwards(std::size_t l) const { return layers_[l].weights + beside(l, next_forwards(l)); }
  double backwards(std::size_t l) const {
    return layers_[l].weights + beside(l, next_backwards(l));
  }
  /// In the W of a layer that follows its B: of the weights only those of the next one are there.
  double behind(std::size_t l) const {
    const std::optional<std::size_t> next = next_backwards(l);
    return next == l ? layers_[l].weights : beside(l, next);
  }
  /// Gradients of the layer that ran before in this task, which are summed.
  double summed_gradients(std::size_t l) const {
    return l + 1 < layers_.size() ? layers_[l + 1].summed : 0.0;
  }
  /// What is in use in the W of a layer, and when its sum has begun.
  double weighting(std::size_t l) const {
    return layers_[l].deferred + layers_[l].gradients + summed_gradients(l);
  }
  double weighted(std::size_t l) const { return layers_[l].summed + layers_[l].open; }

 private:
  /// Behind the last layer of a pass comes that with which the next task begins, for example the
  /// first one again, for another micro-batch.
  using Layer = std::optional<std::size_t>;
  Layer next_forwards(std::size_t l) const {
    return l + 1 < layers_.size() ? l + 1 : next_task(l, 0);
  }
  Layer next_backwards(std::size_t l) const {
    return l > 0 ? l - 1 : next_task(l, layers_.size() - 1);
  }
  Layer next_task(std::size_t l, std::size_t other_end) const {
    if (next_ == ChunkBytes::Next::nothing) return std::nullopt;
    return next_ == ChunkBytes::Next::same_layer ? l : other_end;
  }
  /// Weights of the next layer beside those of layer `l`.
  double beside(std::size_t l, Layer next) const {
    if (!next || *next == l) return 0.0;
    const bool are_ends = std::min(l, *next) == 0 && std::max(l, *next) + 1 == layers_.size();
    return layers_[*next].weights - (are_ends ? shared_weights_ : 0.0);
  }

  const std::vector<LayerUse>& layers_;
  ChunkBytes::Next next_;
  double shared_weights_;
};

/// What is in use while tasks of a chunk run; `bytes` has what it holds beside.
ChunkBytes::Works works_of(const std::vector<LayerUse>& layers, const Passes& passes,
                           const ChunkBytes& bytes) {
  const bool offloads = bytes.num_offloaded > 0;
  const Interval all = {0, static_cast<std::int64_t>(layers.size())};
  const Interval last = {all.end - 1, all.end};
  const Interval others = {0, all.end - 1};
  const Interval front = {0, 1};
  // Offloaded activations of the layer before are on their way.
  const auto kept = [offloads](const LayerUse& use) { return offloads ? 0.0 : use.kept; };
  const auto neighbour = [&](std::size_t l) {
    return offloads && l > 0 ? layers[l - 1].kept : 0.0;
  };
  const auto deferred = [](const LayerUse& use) { return use.deferred; };
  const auto open = [](const LayerUse& use) { return use.open; };
  const auto nothing = [](const LayerUse&) { return 0.0; };
  const auto beyond = [](double most, double held) { return std::max(0.0, most - held); };
  const auto forward = [&](std::size_t l) {
    return layers[l].forwarding + neighbour(l) + passes.forwards(l);
  };
  const auto input = [&](std::size_t l) {
    return layers[l].running + neighbour(l) + passes.backwards(l);
  };
  const auto both = [&](std::size_t l) {
    return std::max(input(l) + passes.summed_gradients(l),
                    passes.weighting(l) + neighbour(l) + passes.behind(l));
  };
  const auto both_summed = [&](std::size_t l) {
    return passes.weighted(l) + neighbour(l) + passes.behind(l);
  };
  const auto weight = [&](std::size_t l) { return passes.weighting(l); };
  const auto weight_summed = [&](std::size_t l) { return passes.weighted(l); };
  ChunkBytes::Works works;
  works.forward = beyond(passes.most(all, kept, nothing, forward), bytes.stored);
  works.backward_input = beyond(passes.most(all, kept, deferred, input), bytes.stored);
  works.backward = {beyond(passes.most(last, kept, open, both), bytes.stored),
                    beyond(std::max(passes.most(others, kept, open, both),
                                    passes.most(all, kept, open, both_summed)),
                           bytes.stored)};
  works.backward_weight = {beyond(passes.most(last, deferred, open, weight), bytes.deferred),
                           beyond(std::max(passes.most(others, deferred, open, weight),
                                           passes.most(all, deferred, open, weight_summed)),
                                  bytes.deferred)};
  if (!offloads) return works;
  works.offloaded_forward = {passes.most(front, kept, nothing, forward),
                             passes.most(last, kept, nothing, forward)};
  works.offloaded_backward_input = {passes.most(last, kept, deferred, input),
                                    passes.most(front, kept, deferred, input)};
  works.offloaded_backward = {
      passes.most(last, kept, open, both),
      std::max(passes.most(front, kept, open, both), passes.most(front, kept, open, both_summed))};
  return works;
}

ChunkBytes measured_bytes(const Instance& instance, const StageParts& parts, int device_of_stage) {
  std::vector<LayerUse> layers;
  ChunkBytes bytes;
  const bool offloads = parts.all().front().mesh->offload_activations;
  for_each_layer(parts, device_of_stage, [&](const LayerOnDevice& on) {
    layers.push_back(use_of(instance, on));
    if (!offloads) bytes.stored += layers.back().kept;
    bytes.deferred += layers.back().deferred;
  });
  share_gradients(instance, parts, layers, bytes);
  bytes.carried = std::max(layers.front().weights, layers.back().weights);
  bytes.summed += layers.front().summed;
  if (offloads) {
    bytes.offloaded = layers.back().kept;
    bytes.num_offloaded = static_cast<int>(layers.size());
  }
  const double shared = shared_weights(instance, parts, layers);
  for (const ChunkBytes::Next next :
       {ChunkBytes::Next::nothing, ChunkBytes::Next::same_layer, ChunkBytes::Next::other_end}) {
    bytes.works[static_cast<std::size_t>(next)] =
        works_of(layers, Passes(layers, next, shared), bytes);
  }
  return bytes;
}

/// Offloaded activations are there of a layer and of the one before it.
ChunkBytes modelled_offload(const std::vector<LayerUse>& layers) {
  ChunkBytes bytes;
  ChunkBytes::Works works;
  double before = 0.0;
  for (const LayerUse& layer : layers) {
    works.forward = std::max(works.forward, layer.kept + before);
    works.backward_input = std::max(works.backward_input, layer.running + before);
    bytes.deferred += layer.kept;
    before = layer.kept;
  }
  works.backward.first = works.backward_input;
  const double before_last = layers.size() > 1 ? layers[layers.size() - 2].kept : 0.0;
  works.offloaded_forward = {layers.front().kept, layers.back().kept + before_last};
  works.offloaded_backward = {layers.back().running + before_last, layers.front().running};
  works.offloaded_backward_input = works.offloaded_backward;
  bytes.offloaded = layers.back().kept;
  bytes.num_offloaded = static_cast<int>(layers.size());
  bytes.works.fill(works);
  return bytes;
}

ChunkBytes modelled_bytes(const Instance& instance, const StageParts& parts, int device_of_stage) {
  ChunkBytes bytes;
  ChunkBytes::Works works;
  std::vector<LayerUse> layers;
  for_each_layer(parts, device_of_stage, [&](const LayerOnDevice& on) {
    const double kept =
        on.samples * stored_bytes_of(instance.profile, on.layer, on.mesh().recompute);
    const double whole = on.samples * stored_bytes_of(instance.profile, on.layer, Recompute::none);
    bytes.stored += kept;
    layers.push_back({.kept = kept, .running = on.layer > 0 ? whole : kept});
    if (on.layer > 0) works.backward_input = std::max(works.backward_input, whole - kept);
  });
  if (parts.all().front().mesh->offload_activations) return modelled_offload(layers);
  works.backward.first = works.backward_input;
  bytes.deferred = bytes.stored;
  bytes.works.fill(works);
  return bytes;
}

}  // namespace

BytesBasis bytes_basis(const Instance& instance, const StageParts& parts, int num_devices) {
  bool known = true;
  for (int d = 0; known && d < num_devices; ++d) {
    for_each_layer(parts, d, [&](const LayerOnDevice& on) {
      known = known && measured(instance, on).has_value();
    });
  }
  return known ? BytesBasis::measured : BytesBasis::modelled;
}

ChunkBytes chunk_bytes(const Instance& instance, const StageParts& parts, int device_of_stage,
                       BytesBasis basis) {
  return basis == BytesBasis::measured ? measured_bytes(instance, parts, device_of_stage)
                                       : modelled_bytes(instance, parts, device_of_stage);
}

double ChunkBytes::offloaded_work(Op op, Next next, double summed_before, double carried_on,
                                  double leaving, double coming) const {
  const double work_of_op = work(op, next, summed_before, carried_on);
  if (op == Op::backward_weight || op == Op::evaluate) return work_of_op + leaving + coming;
  const Works& all = works[static_cast<std::size_t>(next)];
  const Ends& ends = op == Op::forward          ? all.offloaded_forward
                     : op == Op::backward_input ? all.offloaded_backward_input
                                                : all.offloaded_backward;
  if (num_offloaded == 1)
    return std::max(work_of_op, summed_before + ends.first + leaving + coming);
  return std::max({work_of_op, summed_before + ends.first + leaving, ends.last + coming});
}

double ChunkBytes::work(Op op, Next next, double summed_before, double carried_on) const {
  const auto most = [=](const Weighting& work) {
    return std::max(summed_before + work.first, work.rest);
  };
  const Works& all = works[static_cast<std::size_t>(next)];
  switch (op) {
    case Op::forward: return summed_before + all.forward;
    case Op::backward: return most(all.backward);
    case Op::backward_input: return summed_before + all.backward_input;
    case Op::backward_weight: return carried_on + most(all.backward_weight);
    default: return summed_before;
  }
}

}  // namespace pptrain
