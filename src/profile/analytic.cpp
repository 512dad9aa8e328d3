#include "profile/analytic.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "base/error.hpp"
#include "base/names.hpp"
#include "config/published_models.hpp"
#include "model/check.hpp"
#include "model/update_rule.hpp"

namespace pptrain {
namespace {

// Efficiencies and launch time, fitted once, together with the score passes of
// src/model/transformer.cpp, to the layers that docs/profiles.md lists with the error that is left.
constexpr double fp32_efficiency = 0.9;          // of the FP32 units, in large products
constexpr double matrix_unit_efficiency = 0.65;  // of the tensor cores
constexpr double memory_efficiency = 0.8;
constexpr double launch_seconds = 20e-6;

/// Rows are left out where the rows beside them give the time within this part of it.
constexpr double row_tolerance = 0.01;

double pass_seconds(const std::vector<Kernel>& pass, const Roofline& roofline, double degree, double samples) {
  double sum = 0.0;
  for (const Kernel& kernel : pass) {
    const double part = kernel.share == Share::divided ? 1.0 / degree : 1.0;
    const double flop = part * kernel.flop * samples;
    const double bytes = (kernel.bytes + kernel.shard_bytes / degree) * samples + part * kernel.weight_bytes;
    sum += std::max(flop / roofline.flop_per_second, bytes / roofline.bytes_per_second);
    sum += launch_seconds * kernel.launches;
  }
  return sum;
}

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

Roofline roofline_of(const DeviceKind& kind, Precision precision, const std::string& source) {
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
  return {efficiency * rate->second, memory_efficiency * kind.memory_bandwidth};
}

LayerSeconds roofline_seconds(const Work& work, const Roofline& roofline, int tensor_parallel, double samples) {
  return {pass_seconds(work.forward, roofline, tensor_parallel, samples),
          pass_seconds(work.backward_input, roofline, tensor_parallel, samples),
          pass_seconds(work.backward_weight, roofline, tensor_parallel, samples)};
}

BytesPerParameter bytes_per_parameter(const Config& config) {
  const Model model = build_model(config.model, config.training, config.source);
  const double state = state_bytes_per_parameter(config.optimizer, model);
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
                           const std::vector<int>& degrees) {
  ProfileLayer made = {layer.name,
                       static_cast<double>(layer.num_parameters()),
                       layer.output_bytes,
                       layer.stored_bytes,
                       layer.tensor_parallel_allreduce_bytes,
                       {},
                       {}};
  made.exchange_bytes = layer.exchange_bytes;
  made.batch_norms = layer.batch_norms;
  made.batch_norm_channels = layer.batch_norm_channels;
  for (const DeviceKind* kind : kinds) {
    const Roofline roofline = roofline_of(*kind, config.training.precision, config.cluster.file);
    for (const int degree : degrees) {
      const auto largest = static_cast<double>(config.training.global_batch_size);
      const std::vector<ProfileRow> rows = layer_rows(layer.work, kind->name, roofline, degree, largest);
      made.rows.insert(made.rows.end(), rows.begin(), rows.end());
      made.update_seconds[{kind->name, degree}] = rounded(update_seconds(config.optimizer, layer, roofline, degree));
    }
  }
  return made;
}

}  // namespace

Profile analytic_profile(const Config& config, const Cluster& cluster) {
  const Model model = build_model_of(config);
  Profile profile;
  profile.model = model.name;
  profile.source = fmt::format("roofline (docs/profiles.md) at the rates of the cluster \"{}\"; dimensions: {}",
                               cluster.name, dimensions_of(config));
  profile.bytes_per_parameter = bytes_per_parameter(config);
  profile.axes = axes_of(model);
  const std::vector<int> degrees = computed_degrees(config, cluster, model);
  for (const Layer& layer : model.layers) {
    profile.layers.push_back(profile_layer(config, layer, used_kinds(cluster), degrees));
  }
  return profile;
}

}  // namespace pptrain
