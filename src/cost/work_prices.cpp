#include "cost/work_prices.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace pptrain {
namespace {

/// Every layer on the kind where it is cheapest; `load` becomes the device-seconds on each kind.
double priced_work(const std::vector<LayerWork>& work, const std::vector<double>& prices,
                   std::vector<double>& load) {
  std::fill(load.begin(), load.end(), 0.0);
  double total = 0.0;
  for (const LayerWork& layer : work) {
    std::size_t cheapest = 0;
    for (std::size_t k = 1; k < prices.size(); ++k) {
      if (prices[k] * layer.on_kind[k] < prices[cheapest] * layer.on_kind[cheapest]) cheapest = k;
    }
    total += layer.count * prices[cheapest] * layer.on_kind[cheapest];
    load[cheapest] += layer.count * layer.on_kind[cheapest];
  }
  return total;
}

void normalize(std::vector<double>& prices, const std::vector<double>& devices) {
  const double scale = std::inner_product(prices.begin(), prices.end(), devices.begin(), 0.0);
  for (double& price : prices) price /= scale;
}

}  // namespace

double shared_work_seconds(const std::vector<LayerWork>& work, const std::vector<double>& devices) {
  constexpr int num_rounds = 200;
  std::vector<double> prices(devices.size(), 1.0);
  for (std::size_t k = 0; k < devices.size(); ++k) {
    double total = 0.0;
    for (const LayerWork& layer : work) total += layer.count * layer.on_kind[k];
    if (!(total > 0.0)) return 0.0;  // this kind does everything in no time
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

}  // namespace pptrain
