#include "cost/layer_ways.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

namespace pptrain {
namespace {

/// seconds + slope b between two points of a curve.
LinearSeconds line_through(const TimePoint& begin, const TimePoint& end) {
  const double length = end.samples - begin.samples;
  const double slope = length > 0.0 ? (end.seconds - begin.seconds) / length : 0.0;
  return {begin.seconds - slope * begin.samples, slope};
}

/// The prices of the members of a replica, added up: for what each computes, and for what all wait for.
struct ReplicaPrices {
  double compute = 0.0;
  double collectives = 0.0;
};

/// One way for each piece of the curve, with shares of at least `least_share`; the rest is `like`'s.
void append_ways(const TimeCurve& curve, const LinearSeconds& collectives, double least_share,
                 const ReplicaPrices& prices, const Way& like, double samples, std::vector<Way>& ways) {
  for (std::size_t i = 0; i < std::max<std::size_t>(1, curve.size() - 1); ++i) {
    const TimePoint& end = curve[std::min(i + 1, curve.size() - 1)];
    if (end.samples < least_share) continue;
    const LinearSeconds compute = line_through(curve[i], end);
    Way& way = ways.emplace_back(like);
    way.low = std::max(curve[i].samples, least_share);
    way.high = end.samples;
    way.seconds = {compute.seconds + collectives.seconds, compute.per_sample + collectives.per_sample};
    way.priced = {prices.compute * compute.seconds + prices.collectives * collectives.seconds,
                  prices.compute * compute.per_sample + prices.collectives * collectives.per_sample};
    way.least_replicas = samples / way.high;
    way.least_seconds = way.seconds.seconds + way.seconds.per_sample * way.low;
    way.least_used =
        samples * (way.priced.per_sample + way.priced.seconds / (way.priced.seconds > 0.0 ? way.high : way.low));
  }
}

/// Rows of a group of which `first` members are of one kind and the rest of another, with shards in proportion to
/// speed: the harmonic mean. It is concave where both are linear, so lines between rows of either lie below it.
std::vector<TimePoint> mixed_rows(const DegreeRows& a, const DegreeRows& b, int first, double samples) {
  std::vector<TimePoint> rows;
  const auto add = [&](double at) {
    const double fast = seconds_by_rows(a.total, at);
    const double slow = seconds_by_rows(b.total, at);
    const double sum = first * slow + (a.degree - first) * fast;
    rows.push_back({at, sum > 0.0 ? a.degree * fast * slow / sum : 0.0});
  };
  for (const TimePoint& row : a.total) add(row.samples);
  for (const TimePoint& row : b.total) add(row.samples);
  add(1.0);
  add(samples);
  std::sort(rows.begin(), rows.end(), [](const TimePoint& x, const TimePoint& y) { return x.samples < y.samples; });
  const auto same = [](const TimePoint& x, const TimePoint& y) { return x.samples == y.samples; };
  rows.erase(std::unique(rows.begin(), rows.end(), same), rows.end());
  return rows;
}

/// All ways of layers that cost the same.
class WaysOfLayers {
 public:
  WaysOfLayers(const BoundInputs& inputs, const EqualLayers& layers, double samples, const std::vector<double>& prices)
      : inputs_(inputs), layers_(layers), samples_(samples), prices_(prices) {}

  std::vector<Way> all() {
    for (std::size_t i = 0; i < layers_.rows.size(); ++i) {
      const DegreeRows& rows = layers_.rows[i];
      add_unmixed(rows);
      if (rows.between.empty()) continue;
      std::vector<const DegreeRows*> others;
      for (const DegreeRows& other : layers_.rows) {
        if (other.degree == rows.degree && &other != &rows) others.push_back(&other);
      }
      if (others.size() == 1 && others.front() > &rows) add_mixed(rows, *others.front());
      if (others.size() > 1) add_any_mixture(rows);
    }
    return std::move(ways_);
  }

 private:
  /// Groups of one kind of device.
  void add_unmixed(const DegreeRows& rows) {
    const UsedKind& kind = inputs_.kinds[rows.kind];
    const double between = kind.between.bandwidth;
    const TimeCurve curve = lower_curve({&rows.total}, samples_);
    const double price = rows.degree * prices_[rows.kind];
    const double of_node = std::min(samples_, std::floor(static_cast<double>(kind.largest_node) / rows.degree));
    const Way in_node = like(rows.degree, GroupPlacement::one_node, kind.inside.bandwidth);
    const Way on_nodes = like(rows.degree, GroupPlacement::spanning, between);
    for (const LinearSeconds& collectives : rows.inside) {
      append_ways(curve, collectives, samples_ / of_node, {price, price}, in_node, samples_, ways_);
      if (between > 0.0 && samples_ >= 2.0)
        append_ways(curve, collectives, 1.0, {price, price}, on_nodes, samples_, ways_);
    }
    for (const LinearSeconds& collectives : rows.between) {
      append_ways(curve, collectives, 1.0, {price, price}, between_nodes(rows.degree, {rows.kind}), samples_, ways_);
    }
  }

  /// Groups of two kinds, any number of each.
  void add_mixed(const DegreeRows& a, const DegreeRows& b) {
    const bool a_is_slower = a.between.front().per_sample > b.between.front().per_sample;
    for (int first = 1; first < a.degree; ++first) {
      const std::vector<TimePoint> rows = mixed_rows(a, b, first, samples_);
      const TimeCurve curve = lower_curve({&rows}, samples_);
      const double price = first * prices_[a.kind] + (a.degree - first) * prices_[b.kind];
      for (const LinearSeconds& collectives : a_is_slower ? a.between : b.between) {
        append_ways(curve, collectives, 1.0, {price, price}, between_nodes(a.degree, {a.kind, b.kind}), samples_,
                    ways_);
      }
    }
  }

  /// Groups of this and other kinds: shards in proportion to speed make up a mean over kinds of what each would take
  /// alone, but a collective takes the time of all members, of which the cheapest kind may be most.
  void add_any_mixture(const DegreeRows& rows) {
    const ReplicaPrices prices = {rows.degree * prices_[rows.kind],
                                  rows.degree * *std::min_element(prices_.begin(), prices_.end())};
    std::vector<int> kinds(inputs_.kinds.size());
    std::iota(kinds.begin(), kinds.end(), 0);
    const TimeCurve curve = lower_curve({&rows.total}, samples_);
    for (const LinearSeconds& collectives : rows.between) {
      append_ways(curve, collectives, 1.0, prices, between_nodes(rows.degree, kinds), samples_, ways_);
    }
  }

  Way like(int degree, GroupPlacement placement, double bandwidth) const {
    Way way;
    way.gradient = bandwidth > 0.0 ? 2.0 * layers_.gradient_bytes / inputs_.num_devices / bandwidth : 0.0;
    way.memory = (layers_.shared_bytes + degree * samples_ * layers_.stored_bytes) / inputs_.memory;
    way.memory_of_one = layers_.replicated_bytes / inputs_.memory;
    way.placement = placement;
    return way;
  }

  /// With tensor-parallel groups between nodes those of the shards may lie inside.
  Way between_nodes(int degree, const std::vector<int>& kinds) const {
    double bandwidth = 0.0;
    for (const int k : kinds) {
      bandwidth = std::max({bandwidth, inputs_.kinds[k].inside.bandwidth, inputs_.kinds[k].between.bandwidth});
    }
    return like(degree, GroupPlacement::spanning_groups, bandwidth);
  }

  const BoundInputs& inputs_;
  const EqualLayers& layers_;
  double samples_;
  const std::vector<double>& prices_;
  std::vector<Way> ways_;
};

/// Least of seconds (line + ...) + priced capacity B / b + gradient (B / b - 1) + memory for b in [low, high].
Charge charge_of(const Way& way, double samples, const Charges& charges, double capacity, double gradient) {
  const double of_replica = charges.memory * way.memory_of_one;
  const double falling = samples * (capacity * way.priced.seconds + gradient + of_replica);
  const double rising = charges.line * way.seconds.per_sample;
  double share = way.low;
  if (falling > 0.0) share = rising > 0.0 ? std::clamp(std::sqrt(falling / rising), way.low, way.high) : way.high;
  if (way.seconds.per_sample > 0.0) {
    share = std::max(way.low, std::min(share, (charges.longest - way.seconds.seconds) / way.seconds.per_sample));
  }
  const double replicas = samples / share;
  Charge charge;
  charge.line = way.seconds.seconds + way.seconds.per_sample * share;
  charge.used = (way.priced.seconds + way.priced.per_sample * share) * replicas;
  charge.memory = way.memory + way.memory_of_one * replicas;
  charge.seconds = charges.line * charge.line + capacity * charge.used + gradient * (replicas - 1.0) +
                   charges.memory * charge.memory;
  return charge;
}

Charge cheapest(const std::vector<Way>& ways, double samples, const Charges& charges) {
  Charge least;
  for (const Way& way : ways) {
    const double in_node = way.placement == GroupPlacement::one_node ? charges.node_capacity : 0.0;
    const double capacity = charges.capacity + in_node;
    const double at_least = charges.line * way.least_seconds + capacity * way.least_used +
                            way.gradient * (way.least_replicas - 1.0) +
                            charges.memory * (way.memory + way.memory_of_one * way.least_replicas);
    if (at_least >= least.seconds || way.least_seconds > charges.longest) continue;
    Charge charge = charge_of(way, samples, charges, capacity, way.gradient);
    if (way.placement == GroupPlacement::spanning) {
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
    all.push_back({layers.count, WaysOfLayers(inputs, layers, samples, prices).all()});
  }
  return all;
}

Charge least_charge(const std::vector<LayerWays>& layers, double samples, const Charges& charges) {
  Charge sum = {0.0, 0.0, 0.0, 0.0};
  for (const LayerWays& layer : layers) {
    const Charge least = cheapest(layer.ways, samples, charges);
    sum.seconds += layer.count * least.seconds;
    sum.line += layer.count * least.line;
    sum.used += layer.count * least.used;
    sum.memory += layer.count * least.memory;
  }
  return sum;
}

}  // namespace pptrain
