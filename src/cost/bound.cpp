#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "cost/cost.hpp"

namespace pptrain {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

/// Device kinds that nodes use, and how many devices of each there are.
struct UsedKinds {
  std::vector<std::string> names;
  std::vector<double> devices;
};

UsedKinds used_kinds(const Cluster& cluster) {
  UsedKinds used;
  for (const NodeGroup& group : cluster.groups) {
    const auto found = std::find(used.names.begin(), used.names.end(), group.device_kind);
    const auto index = static_cast<std::size_t>(found - used.names.begin());
    if (found == used.names.end()) {
      used.names.push_back(group.device_kind);
      used.devices.push_back(0.0);
    }
    used.devices[index] += static_cast<double>(group.count) * group.num_devices;
  }
  return used;
}

/// The fewest device-seconds per sample of any row. Interpolation cannot go below: between two rows
/// seconds per sample lie between theirs, outside they are those of the nearest row.
double least_work(const ProfileLayer& layer, const std::string& kind) {
  double least = infinity;
  for (const ProfileRow& row : layer.rows) {
    if (row.device == kind) least = std::min(least, row.tensor_parallel * row.seconds.total() / row.samples);
  }
  return least;
}

/// The least time of forward and backward-input for one sample or more, on any kind and degree: over
/// samples it is piecewise linear, so least at one sample or in a row.
double least_latency(const Profile& profile, int layer, const UsedKinds& used) {
  double least = infinity;
  for (const ProfileRow& row : profile.layers[layer].rows) {
    if (std::find(used.names.begin(), used.names.end(), row.device) == used.names.end()) continue;
    const LayerSeconds one = profile.seconds(layer, row.device, row.tensor_parallel, 1.0).value();
    least = std::min({least, row.seconds.forward + row.seconds.backward_input, one.forward + one.backward_input});
  }
  return least;
}

/// work[l][k]: least device-seconds per sample of layer l on kind k.
using Work = std::vector<std::vector<double>>;

/// Dual of `min T: sum_l x_lk work_lk <= T D_k, sum_k x_lk = 1`: any prices of a second on each kind
/// with sum price_k D_k = 1 bound T from below by sum_l min_k price_k work_lk.
double priced_work(const Work& work, const std::vector<double>& prices, std::vector<double>& load) {
  std::fill(load.begin(), load.end(), 0.0);
  double total = 0.0;
  for (const std::vector<double>& layer : work) {
    std::size_t cheapest = 0;
    for (std::size_t k = 1; k < prices.size(); ++k) {
      if (prices[k] * layer[k] < prices[cheapest] * layer[cheapest]) cheapest = k;
    }
    total += prices[cheapest] * layer[cheapest];
    load[cheapest] += layer[cheapest];
  }
  return total;
}

void normalize(std::vector<double>& prices, const std::vector<double>& devices) {
  const double scale = std::inner_product(prices.begin(), prices.end(), devices.begin(), 0.0);
  for (double& price : prices) price /= scale;
}

/// Seconds per sample when all devices share the work, maximised over prices by multiplicative
/// weights; every iterate is a valid bound.
double shared_work(const Work& work, const std::vector<double>& devices) {
  constexpr int num_rounds = 200;
  std::vector<double> prices(devices.size(), 0.0);
  for (std::size_t k = 0; k < devices.size(); ++k) {
    double total = 0.0;
    for (const std::vector<double>& layer : work) total += layer[k];
    if (!(total > 0.0)) return 0.0;
    prices[k] = 1.0 / total;
  }
  normalize(prices, devices);
  std::vector<double> load(devices.size());
  double best = priced_work(work, prices, load);
  for (int round = 1; round < num_rounds && devices.size() > 1; ++round) {
    for (std::size_t k = 0; k < devices.size(); ++k) {
      prices[k] *= std::exp(std::clamp(load[k] / devices[k] / best - 1.0, -1.0, 1.0) / round);
    }
    normalize(prices, devices);
    best = std::max(best, priced_work(work, prices, load));
  }
  return best;
}

}  // namespace

double lower_bound_seconds(const Instance& instance) {
  constexpr double rounding = 1.0 - 1e-12;  // sums are taken in another order than a plan's
  const UsedKinds used = used_kinds(instance.cluster);
  Work work;
  double latency = 0.0;
  for (int layer = 0; layer < instance.profile.num_layers(); ++layer) {
    work.emplace_back();
    for (const std::string& kind : used.names) {
      work.back().push_back(least_work(instance.profile.layers[layer], kind));
    }
    latency += least_latency(instance.profile, layer, used);
  }
  const double shared = static_cast<double>(instance.global_batch_size) * shared_work(work, used.devices);
  return std::max(shared, latency) * rounding;
}

}  // namespace pptrain
