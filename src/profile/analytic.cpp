#include "profile/analytic.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <optional>

#include "base/error.hpp"
#include "base/names.hpp"
#include "config/published_models.hpp"
#include "model/check.hpp"
#include "model/plain_bytes.hpp"
#include "model/update_rule.hpp"
#include "profile/graded.hpp"

namespace pptrain {
namespace {

// Efficiencies of devices of which only rates are known, fitted once, together with `launch_seconds`, to the layers
// that docs/profiles.md lists with the error that is left.
constexpr double fp32_efficiency = 0.9;          // of the FP32 units, in large products
constexpr double matrix_unit_efficiency = 0.65;  // of the tensor cores
constexpr double memory_efficiency = 0.8;

/// Rows are left out where the rows beside them give the time within this part of it.
constexpr double row_tolerance = 0.01;

/// Four digits are more than the roofline is worth, and make files that do not depend on the
/// compiler's rounding.
double rounded(double seconds) { return std::strtod(fmt::format("{:.3e}", seconds).c_str(), nullptr); }

LayerSeconds rounded(const LayerSeconds& s) {
  return {rounded(s.forward), rounded(s.backward_input), rounded(s.backward_weight)};
}

double relative_error(const LayerSeconds& exact, const LayerSeconds& found) {
  const double sum = std::abs(exact.forward - found.forward) + std::abs(exact.backward_input - found.backward_input) +
                     std::abs(exact.backward_weight - found.backward_weight);
  return sum == 0.0 ? 0.0 : sum / exact.total();
}

/// Where a row may be: 1, 2, 3, 4, 6, 8, 12, ... up to `largest`, and that.
std::vector<double> sample_counts(double largest) {
  std::vector<double> counts;
  for (double power = 1.0; power < largest; power *= 2.0) {
    counts.push_back(power);
    if (power > 1.0 && 1.5 * power < largest) counts.push_back(1.5 * power);
  }
  counts.push_back(largest);
  return counts;
}

/// What a member holds of a layer of a runtime that is not pptrain, which makes nothing again.
LayerBytes bytes_of(const PlainBytes& plain, int degree, double samples, bool sequence_parallel) {
  const double whole = sequence_parallel ? plain.whole / degree : plain.whole;
  LayerBytes bytes;
  bytes.stored = samples * (whole + plain.divided / degree);
  bytes.deferred = bytes.stored;
  bytes.workspace = bytes.forward_workspace = samples * plain.moment / degree;
  bytes.recomputed = samples * plain.scores / degree;
  return bytes;
}

/// Rows for one kind and degree, as few as give every count of samples within the tolerance.
std::vector<ProfileRow> layer_rows(const Work& work, const std::string& device, const Roofline& roofline, int degree,
                                   double largest_samples) {
  const auto row = [&](double samples) {
    return ProfileRow{device, degree, samples, roofline_seconds(work, roofline, degree, samples), true};
  };
  Profile chosen;
  chosen.layers.push_back({});
  std::vector<ProfileRow>& rows = chosen.layers.front().rows;
  rows.push_back(row(1.0));
  if (rows.front().seconds.total() == 0.0) return rows;
  if (largest_samples > 1.0) rows.push_back(row(largest_samples));
  for (;;) {
    ProfileRow worst;
    double error = row_tolerance;
    for (const double samples : sample_counts(largest_samples)) {
      const ProfileRow exact = row(samples);
      const double found = relative_error(exact.seconds, *chosen.seconds(0, device, degree, samples));
      if (found > error) {
        error = found;
        worst = exact;
      }
    }
    if (error == row_tolerance) break;
    rows.push_back(worst);
  }
  std::sort(rows.begin(), rows.end(), [](const ProfileRow& a, const ProfileRow& b) { return a.samples < b.samples; });
  for (ProfileRow& r : rows) r.seconds = rounded(r.seconds);
  return rows;
}

}  // namespace

std::vector<const DeviceKind*> used_kinds(const Cluster& cluster) {
  std::vector<const DeviceKind*> kinds;
  for (const DeviceKind& kind : cluster.device_kinds) {
    const bool used = std::any_of(cluster.groups.begin(), cluster.groups.end(),
                                  [&](const NodeGroup& group) { return group.device_kind == kind.name; });
    if (used) kinds.push_back(&kind);
  }
  return kinds;
}

namespace {

/// Whether products of a precision run on matrix units: those of 16 bits, and where a kind's rate for fp32 is that of
/// TF32, which no kind's FP32 units come near.
bool on_matrix_units(const DeviceKind& kind, Precision precision) {
  if (precision != Precision::fp32) return true;
  constexpr double least_of_tf32 = 0.4;  // of the 16-bit rate; TF32 has half of it, FP32 units a fifteenth to an eighth
  double wide = 0.0;
  for (const char* name : {"bf16", "fp16"}) {
    if (const auto rate = kind.flops.find(name); rate != kind.flops.end()) wide = std::max(wide, rate->second);
  }
  return wide > 0.0 && kind.flops.at("fp32") >= least_of_tf32 * wide;
}

}  // namespace

Roofline roofline_of(const DeviceKind& kind, Precision precision, const std::string& source,
                     const RuntimeTraits& runtime, const KernelConstants& constants) {
  const auto rate = kind.flops.find(to_string(precision));
  if (rate == kind.flops.end()) {
    std::vector<std::string> known;
    for (const auto& [name, value] : kind.flops) known.push_back(name);
    throw_bad_input(
        {source, fmt::format("device kind \"{}\" has no FLOP rate for {}", kind.name, to_string(precision)),
         known.empty() ? "an analytic profile is computed from it" : "it has those for " + join(known),
         fmt::format("add flops = {{ {} = \"... TFLOP/s\" }}, or choose another precision", to_string(precision))});
  }
  if (kind.memory_bandwidth <= 0.0) {
    throw_bad_input({source, fmt::format("device kind \"{}\" has no memory_bandwidth", kind.name),
                     "an analytic profile is computed from it", "add memory_bandwidth = \"... GB/s\""});
  }
  const double efficiency = precision == Precision::fp32 ? fp32_efficiency : matrix_unit_efficiency;
  Roofline roofline = {efficiency * rate->second, memory_efficiency * kind.memory_bandwidth};
  const GpuKind* gpu = runtime.own ? nullptr : gpu_kind(kind.name);
  if (gpu != nullptr && on_matrix_units(kind, precision)) {
    roofline.gpu = gpu_kernels(*gpu, rate->second, element_bytes(precision), runtime, constants);
  }
  return roofline;
}

RuntimeTraits runtime_of(const Config& config) {
  RuntimeTraits runtime = runtime_called(config.profile.like);
  if (config.profile.attention != "auto") runtime.fused_attention = config.profile.attention == "fused";
  return runtime;
}

BytesPerParameter bytes_per_parameter(const Config& config) {
  const Model model = build_model(config.model, config.training, config.source);
  const double state = state_bytes_per_parameter(config.optimizer, model);
  const RuntimeTraits runtime = runtime_of(config);
  if (!runtime.own && !runtime.wide_traffic && config.training.precision != Precision::fp32) {
    const bool half = config.training.precision == Precision::fp16;
    return {2.0, half ? runtime.fp16_gradients : runtime.wide_gradients, 4.0 + state};
  }
  return {config.training.precision == Precision::fp32 ? 4.0 : 6.0, 4.0, state};
}

namespace {

/// Seconds of the gradient norm and the optimizer's step over a layer, on one of `degree` members.
double update_seconds(const OptimizerConfig& optimizer, const Layer& layer, const Roofline& roofline, int degree) {
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

/// What is known of the collectives of other runtimes, which NCCL executes; pptrain's are those of docs/cost.md.
Communication communication_of(const RuntimeTraits& runtime, const std::vector<const DeviceKind*>& kinds,
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
  if (runtime.blocking_sends) made.blocking = constants.at("blocking");
  for (const DeviceKind* kind : kinds) {
    const GpuKind* gpu = gpu_kind(kind->name);
    if (gpu != nullptr && gpu->link_neighbours > 0) made.link_neighbours[kind->name] = gpu->link_neighbours;
  }
  return made;
}

/// The source of the dimensions of the configuration's model: a publication, or the configuration itself.
std::string dimensions_of(const Config& config) {
  return config.model.published ? published_model(config.model.name)->source : "the configuration";
}

/// The degrees that are computed: those of the model, or the one of them that is asked for.
std::vector<int> computed_degrees(const Config& config, const Cluster& cluster, const Model& model) {
  std::vector<int> degrees = model.tensor_parallel_degrees();
  std::erase_if(degrees, [&](int degree) { return degree > cluster.num_devices(); });
  const AutoInt wanted = config.parallelism.tensor;
  if (!wanted || std::find(degrees.begin(), degrees.end(), *wanted) == degrees.end()) return degrees;
  std::erase_if(degrees, [&](int degree) { return degree != 1 && degree != *wanted; });
  return degrees;
}

ProfileLayer profile_layer(const Config& config, const Layer& layer, const std::vector<const DeviceKind*>& kinds,
                           const std::vector<int>& degrees, const KernelConstants& constants) {
  const RuntimeTraits runtime = runtime_of(config);
  // pptrain's residual stream, and so what crosses from layer to layer and what groups sum, is fp32.
  const double stream = runtime.own ? 1.0 : element_bytes(config.training.precision) / 4.0;
  ProfileLayer made = {layer.name,
                       static_cast<double>(layer.num_parameters()),
                       stream * layer.output_bytes,
                       layer.stored_bytes,
                       stream * layer.tensor_parallel_allreduce_bytes,
                       {},
                       {}};
  std::optional<PlainBytes> plain;
  if (!runtime.own) {
    plain = plain_bytes(layer, element_bytes(config.training.precision), !runtime.fused_attention);
    made.stored_bytes = plain->whole + plain->divided;
  }
  made.exchange_bytes = layer.exchange_bytes;
  made.batch_norms = layer.batch_norms;
  made.batch_norm_channels = layer.batch_norm_channels;
  for (const DeviceKind* kind : kinds) {
    const Roofline roofline = roofline_of(*kind, config.training.precision, config.cluster.file, runtime, constants);
    for (const int degree : degrees) {
      const auto largest = static_cast<double>(config.training.global_batch_size);
      const std::vector<ProfileRow> rows = layer_rows(layer.work, kind->name, roofline, degree, largest);
      made.rows.insert(made.rows.end(), rows.begin(), rows.end());
      for (auto added = made.rows.end() - static_cast<std::ptrdiff_t>(rows.size()); plain && added != made.rows.end();
           ++added) {
        added->bytes = bytes_of(*plain, degree, added->samples, config.profile.sequence_parallel);
      }
      made.update_seconds[{kind->name, degree}] = rounded(update_seconds(config.optimizer, layer, roofline, degree));
    }
  }
  return made;
}

}  // namespace

Profile analytic_profile(const Config& config, const Cluster& cluster, const KernelConstants& constants) {
  const Model model = build_model_of(config);
  Profile profile;
  profile.model = model.name;
  profile.source = fmt::format("roofline (docs/profiles.md) at the rates of the cluster \"{}\"; dimensions: {}",
                               cluster.name, dimensions_of(config));
  profile.bytes_per_parameter = bytes_per_parameter(config);
  profile.axes = axes_of(model);
  const RuntimeTraits runtime = runtime_of(config);
  profile.communication = communication_of(runtime, used_kinds(cluster), constants);
  std::vector<std::string> kinds;
  for (const DeviceKind* kind : used_kinds(cluster)) kinds.push_back(kind->name);
  if (!runtime.own) profile.error_band = error_band_of(kinds, runtime);
  const std::vector<int> degrees = computed_degrees(config, cluster, model);
  for (const Layer& layer : model.layers) {
    profile.layers.push_back(profile_layer(config, layer, used_kinds(cluster), degrees, constants));
  }
  return profile;
}

}  // namespace pptrain
