#include "cost/layer_ways.hpp"

#include <algorithm>
#include <cmath>

namespace pptrain {
namespace {

/// One way for each piece of the curve, with shares of at least `least_share`; the rest is `like`'s.
void append_ways(const TimeCurve& curve, const LinearSeconds& collectives, double least_share, const Way& like,
                 std::vector<Way>& ways) {
  for (std::size_t i = 0; i < std::max<std::size_t>(1, curve.size() - 1); ++i) {
    const TimePoint& begin = curve[i];
    const TimePoint& end = curve[std::min(i + 1, curve.size() - 1)];
    if (end.samples < least_share) continue;
    const double length = end.samples - begin.samples;
    const double slope = length > 0.0 ? (end.seconds - begin.seconds) / length : 0.0;
    Way& way = ways.emplace_back(like);
    way.low = std::max(begin.samples, least_share);
    way.high = end.samples;
    way.at_zero = begin.seconds - slope * begin.samples + collectives.seconds;
    way.slope = slope + collectives.per_sample;
  }
}

/// `gradient_bytes`: 2 G / D.
void add_ways(const UsedKind& kind, const DegreeRows& rows, double gradient_bytes, double samples, double price,
              std::vector<Way>& ways) {
  const double inside = kind.inside.bandwidth;
  const double between = kind.between.bandwidth;
  const TimeCurve curve = lower_curve({&rows.total}, samples);
  const auto like = [&](Placement placement, double bandwidth) {
    Way way;
    way.price = rows.degree * price;
    way.gradient = bandwidth > 0.0 ? gradient_bytes / bandwidth : 0.0;
    way.placement = placement;
    return way;
  };
  const double replicas_of_node = std::min(samples, std::floor(static_cast<double>(kind.largest_node) / rows.degree));
  for (const LinearSeconds& collectives : rows.inside) {
    append_ways(curve, collectives, samples / replicas_of_node, like(Placement::one_node, inside), ways);
    if (between > 0.0 && samples >= 2.0) append_ways(curve, collectives, 1.0, like(Placement::spanning, between), ways);
  }
  for (const LinearSeconds& collectives : rows.between) {
    append_ways(curve, collectives, 1.0, like(Placement::spanning_groups, std::max(inside, between)), ways);
  }
}

/// Least of (at_zero + slope b) (line + capacity B / b) + gradient (B / b - 1) for b in [low, high].
Charge charge_of(const Way& way, double samples, const Charges& charges, double capacity, double gradient) {
  if (way.at_zero + way.slope * way.low > charges.longest) return {};
  const double falling = samples * (capacity * way.at_zero + gradient);
  const double rising = charges.line * way.slope;
  double share = way.low;
  if (falling > 0.0) share = rising > 0.0 ? std::clamp(std::sqrt(falling / rising), way.low, way.high) : way.high;
  if (way.slope > 0.0) share = std::max(way.low, std::min(share, (charges.longest - way.at_zero) / way.slope));
  const double replicas = samples / share;
  const double seconds = way.at_zero + way.slope * share;
  return {seconds * (charges.line + capacity * replicas) + gradient * (replicas - 1.0), seconds,
          way.price * seconds * replicas};
}

Charge cheapest(const std::vector<Way>& ways, double samples, const Charges& charges) {
  Charge least;
  for (const Way& way : ways) {
    const double in_node = way.placement == Placement::one_node ? charges.node_capacity : 0.0;
    const double capacity = (charges.capacity + in_node) * way.price;
    Charge charge = charge_of(way, samples, charges, capacity, way.gradient);
    if (way.placement == Placement::spanning && charge.seconds < least.seconds) {
      // Of at least two replicas the mean of B / b is at least 2, whatever it is for each.
      Charge of_two = charge_of(way, samples, charges, capacity, 0.0);
      of_two.seconds += way.gradient;
      if (of_two.seconds > charge.seconds) charge = of_two;
    }
    if (charge.seconds < least.seconds) least = charge;
  }
  return least;
}

}  // namespace

std::vector<LayerWays> layer_ways(const BoundInputs& inputs, double samples, const std::vector<double>& prices) {
  std::vector<LayerWays> all;
  for (const EqualLayers& layers : inputs.layers) {
    all.push_back({layers.count, {}});
    const double gradient_bytes = 2.0 * layers.gradient_bytes / inputs.num_devices;
    for (const DegreeRows& rows : layers.rows) {
      add_ways(inputs.kinds[rows.kind], rows, gradient_bytes, samples, prices[rows.kind], all.back().ways);
    }
  }
  return all;
}

Charge least_charge(const std::vector<LayerWays>& layers, double samples, const Charges& charges) {
  Charge sum = {0.0, 0.0, 0.0};
  for (const LayerWays& layer : layers) {
    const Charge least = cheapest(layer.ways, samples, charges);
    sum.seconds += layer.count * least.seconds;
    sum.line += layer.count * least.line;
    sum.used += layer.count * least.used;
  }
  return sum;
}

}  // namespace pptrain
