#include "profile/analytic.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>

#include "config/published_models.hpp"
#include "config/trainer_kinds.hpp"
#include "model/build/check.hpp"
#include "model/folds/axis_length.hpp"
#include "model/optimizers/update_rule.hpp"
#include "profile/graded.hpp"
#include "profile/layer_rows.hpp"
#include "profile/layer_sizes.hpp"

namespace pptrain {
std::vector<const DeviceKind*> used_kinds(const Cluster& cluster) {
  std::vector<const DeviceKind*> kinds;
  for (const DeviceKind& kind : cluster.device_kinds) {
    const bool used =
        std::any_of(cluster.groups.begin(), cluster.groups.end(),
                    [&](const NodeGroup& group) { return group.device_kind == kind.name; });
    if (used) kinds.push_back(&kind);
  }
  return kinds;
}

RuntimeTraits runtime_of(const Config& config) {
  RuntimeTraits runtime = runtime_called(predicted_runtime(config));
  if (config.profile.attention != AttentionRun::as_runtime)
    runtime.fused_attention = config.profile.attention == AttentionRun::fused;
  runtime.drops_scores = config.profile.attention == AttentionRun::stored_dropout;
  return runtime;
}

BytesPerParameter bytes_per_parameter(const Config& config) {
  return bytes_per_parameter(config, build_model(config.model, config.training, config.source));
}

BytesPerParameter bytes_per_parameter(const RuntimeTraits& runtime, Precision precision,
                                      double state) {
  if (!runtime.own && !runtime.wide_traffic && precision != Precision::fp32) {
    return {2.0, precision == Precision::fp16 ? runtime.fp16_gradients : runtime.wide_gradients,
            runtime.wide_weight + state};
  }
  return {precision == Precision::fp32 ? 4.0 : 6.0, 4.0, state};
}

BytesPerParameter bytes_per_parameter(const Config& config, const Model& model) {
  return bytes_per_parameter(runtime_of(config), config.training.precision,
                             state_bytes_per_parameter(config.optimizer, model));
}

namespace {

/// Seconds of the gradient norm and the optimizer's step over a layer, on one of `degree` members.
double update_seconds(const OptimizerConfig& optimizer, const Layer& layer,
                      const Roofline& roofline, int degree) {
  constexpr double norm_flop = 2.0, norm_bytes = 4.0;  // per element
  double seconds = 0.0;
  for (const ParameterSpec& parameter : layer.parameters) {
    const UpdateRule rule = update_rule(optimizer, parameter);
    const double part = parameter.axis == ShardAxis::none ? 1.0 : 1.0 / degree;
    seconds += part * static_cast<double>(parameter.size()) *
               std::max((rule.flop + norm_flop) / roofline.flop_per_second,
                        (rule.bytes_moved + norm_bytes) / roofline.bytes_per_second);
  }
  return seconds;
}

/// What is known of the collectives of other runtimes, which NCCL executes; pptrain's are those of
/// docs/cost.md.
Communication communication_of(const RuntimeTraits& runtime,
                               const std::vector<const DeviceKind*>& kinds,
                               const KernelConstants& constants) {
  Communication made;
  if (runtime.own) return made;
  made.link_share = constants.at("link.share");
  made.uplink_share = constants.at("uplink.share");
  made.half_bytes = constants.at("link.half");
  made.start_seconds = constants.at("link.start");
  made.shares_uplinks = true;
  made.hides_sums = runtime.hides_sums;
  made.beside = constants.at("beside");
  if (runtime.blocking_sends) made.blocking_bandwidth = constants.at("blocking");
  for (const DeviceKind* kind : kinds) {
    const GpuKind* gpu = gpu_kind(kind->name);
    if (gpu != nullptr && gpu->link_neighbours > 0)
      made.link_neighbours[kind->name] = gpu->link_neighbours;
  }
  return made;
}

/// The source of the dimensions of the configuration's model: a publication, or the configuration
/// itself.
std::string dimensions_of(const Config& config) {
  return config.model.published ? published_model(config.model.name)->source : "the configuration";
}

/// The degrees that are computed: those of the model, or the one of them that is asked for.
std::vector<int> computed_degrees(const Config& config, const Cluster& cluster,
                                  const Model& model) {
  std::vector<int> degrees = model.tensor_parallel_degrees();
  std::erase_if(degrees, [&](int degree) { return degree > cluster.num_devices(); });
  const AutoInt wanted = config.parallelism.tensor;
  if (!wanted || std::find(degrees.begin(), degrees.end(), *wanted) == degrees.end())
    return degrees;
  std::erase_if(degrees, [&](int degree) { return degree != 1 && degree != *wanted; });
  return degrees;
}

/// Part of the seconds of F in which a layer computes what selective recomputation does not keep:
/// attention, or, where a runtime `keeps_products`, every other product and all but products and
/// attention.
double selective_part(const Work& work, const Roofline& roofline, bool keeps_products) {
  Work again;
  int products = 0;
  for (const Kernel& kernel : work.forward) {
    if (kernel.product) ++products;
    const bool other = !kernel.attention && !(kernel.product && keeps_product(products));
    if (keeps_products ? other : kernel.attention.has_value()) again.forward.push_back(kernel);
  }
  const double all = roofline_seconds(work, roofline, 1, 1.0).forward;
  return all > 0.0 ? rounded(roofline_seconds(again, roofline, 1, 1.0).forward / all) : 0.0;
}

/// Layers of one model in one runtime.
class LayerProfiles {
 public:
  LayerProfiles(const Config& config, const Model& model, const Cluster& cluster,
                const KernelConstants& constants)
      : config_(config),
        model_(model),
        runtime_(runtime_of(config)),
        communication_(communication_of(runtime_, used_kinds(cluster), constants)) {
    const auto largest = static_cast<double>(config.planned_batch_size());
    const std::vector<int> degrees = computed_degrees(config, cluster, model);
    for (const int degree : degrees) pad(degree);
    for (const DeviceKind* kind : used_kinds(cluster)) {
      const Roofline roofline =
          roofline_of(*kind, config.training.precision, config.cluster.file, runtime_, constants);
      for (const int degree : degrees) {
        rows_.emplace_back(*kind, roofline, degree, largest,
                           ContextExchange(cluster, *kind, degree, config.parallelism.context,
                                           communication_, runtime_.hides_ring));
      }
    }
  }

  const Communication& communication() const { return communication_; }

  ProfileLayer of(std::size_t number) {
    ProfileLayer made = LayerSizes(config_, runtime_, model_, number).layer();
    std::map<int, LayerSizes> sizes;
    for (LayerRows& computed : rows_) {
      const Model& model = model_at(computed.degree());
      const Layer& layer = model.layers[number];
      sizes.try_emplace(computed.degree(), config_, runtime_, model, number);
      const std::vector<ProfileRow>& rows = computed.of(layer.work);
      made.rows.insert(made.rows.end(), rows.begin(), rows.end());
      made.update_seconds[{computed.kind(), computed.degree()}] =
          rounded(update_seconds(config_.optimizer, layer, computed.roofline(), computed.degree()));
    }
    if (made.repeated && !rows_.empty()) {
      made.selective_part = selective_part(model_.layers[number].work, rows_.front().roofline(),
                                           runtime_.keeps_products);
    }
    for (ProfileRow& row : made.rows)
      row.bytes = sizes.at(row.tensor_parallel).bytes(row.tensor_parallel, row.samples);
    return made;
  }

 private:
  /// Notes the model with the vocabulary that members of such groups compute with, where it is
  /// another one.
  void pad(int degree) {
    const std::int64_t size = model_.axis_size(ShardAxis::vocabulary);
    const std::int64_t multiple = runtime_.vocabulary_multiple * degree;
    if (multiple == 0 || size % multiple == 0) return;
    padded_.emplace(
        degree, with_axis_length(model_, ShardAxis::vocabulary, size + multiple - size % multiple,
                                 element_bytes(config_.training.precision)));
  }

  const Model& model_at(int degree) const {
    const auto padded = padded_.find(degree);
    return padded == padded_.end() ? model_ : padded->second;
  }

  const Config& config_;
  const Model& model_;
  std::map<int, Model> padded_;  ///< by tensor-parallel degree
  RuntimeTraits runtime_;
  Communication communication_;
  std::vector<LayerRows> rows_;
};

}  // namespace

Profile analytic_profile(const Config& config, const Cluster& cluster,
                         const KernelConstants& constants) {
  return analytic_profile(config, build_model_of(config), cluster, constants);
}

Profile analytic_profile(const Config& config, const Model& model, const Cluster& cluster,
                         const KernelConstants& constants) {
  LayerProfiles layers(config, model, cluster, constants);
  Profile profile;
  profile.model = model.name;
  profile.source =
      fmt::format("roofline (docs/profiles.md) at the rates of the cluster \"{}\"; dimensions: {}",
                  cluster.name, dimensions_of(config));
  profile.bytes_per_parameter = bytes_per_parameter(config, model);
  profile.axes = axes_of(model);
  const RuntimeTraits runtime = runtime_of(config);
  profile.communication = layers.communication();
  if (!runtime.own) profile.like = runtime.name;
  profile.sequence_parallel = !runtime.own && divides_positions(config);
  profile.context = config.parallelism.context;
  std::vector<std::string> kinds;
  for (const DeviceKind* kind : used_kinds(cluster)) kinds.push_back(kind->name);
  if (!runtime.own) profile.error_band = error_band_of(kinds, runtime);
  for (std::size_t l = 0; l < model.layers.size(); ++l) profile.layers.push_back(layers.of(l));
  return profile;
}

}  // namespace pptrain
