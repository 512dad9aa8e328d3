#include "cost/micro_batch_bounds.hpp"

#include <algorithm>
#include <vector>

#include "base/infinity.hpp"
#include "cost/work_prices.hpp"

namespace pptrain {
namespace {

/// Least device-seconds for all samples of the micro-batch, whatever shares replicas take: seconds
/// per sample are monotone between two points of the curve.
double least_work(const DegreeRows& rows, double samples) {
  const std::vector<LinearSeconds> tensor = rows.tensor_work();
  double least = infinity;
  for (const TimePoint& point : lower_curve({&rows.total}, samples)) {
    for (const LinearSeconds& collectives : tensor) {
      const double seconds =
          point.seconds + collectives.seconds + collectives.per_sample * point.samples;
      least = std::min(least, rows.degree * seconds * samples / point.samples);
    }
  }
  return least;
}

/// Seconds of the layer on average over the samples of a micro-batch, when as many replicas as
/// there are devices for share it. A replica with share y of them takes part y of the average, and
/// sum y^2 >= 1 / replicas; the rest is Jensen's inequality on a curve below those of all kinds.
double least_seconds(const BoundInputs& inputs, const EqualLayers& layers, double samples,
                     std::vector<TimePoint> DegreeRows::*points) {
  double least = infinity;
  for (std::size_t i = 0; i < layers.rows.size(); ++i) {
    const int degree = layers.rows[i].degree;
    const auto same = [degree](const DegreeRows& rows) { return rows.degree == degree; };
    if (std::any_of(layers.rows.begin(), layers.rows.begin() + static_cast<std::ptrdiff_t>(i),
                    same))
      continue;
    const double share = std::min(samples, std::max(1.0, samples * degree / inputs.num_devices));
    std::vector<const std::vector<TimePoint>*> of_kinds;
    double tensor = infinity;
    for (const DegreeRows& rows : layers.rows) {
      if (!same(rows)) continue;
      of_kinds.push_back(&(rows.*points));
      for (const LinearSeconds& collectives : rows.tensor()) {
        tensor = std::min(tensor, collectives.seconds + collectives.per_sample * share);
      }
    }
    least = std::min(least, seconds_at(lower_curve(of_kinds, samples), share) + tensor);
  }
  return least;
}

/// Least device-seconds of a micro-batch per layer and kind.
std::vector<LayerWork> layer_work(const BoundInputs& inputs, double samples) {
  std::vector<LayerWork> work;
  for (const EqualLayers& layers : inputs.layers) {
    LayerWork of_layer = {std::vector<double>(inputs.kinds.size(), infinity), layers.count};
    for (const DegreeRows& rows : layers.rows) {
      double& least = of_layer.on_kind[rows.kind];
      least = std::min(least, least_work(rows, samples));
    }
    work.push_back(std::move(of_layer));
  }
  return work;
}

}  // namespace

double path_seconds(const BoundInputs& inputs, double samples) {
  double sum = 0.0;
  for (const EqualLayers& layers : inputs.layers) {
    sum += layers.count * least_seconds(inputs, layers, samples, &DegreeRows::path);
  }
  return sum;
}

double stage_seconds(const BoundInputs& inputs, double samples) {
  std::vector<double> devices;
  for (const UsedKind& kind : inputs.kinds) devices.push_back(kind.devices);
  double least = shared_work_seconds(layer_work(inputs, samples), devices);
  for (const EqualLayers& layers : inputs.layers) {
    least = std::max(least, least_seconds(inputs, layers, samples, &DegreeRows::total));
  }
  return least;
}

}  // namespace pptrain
