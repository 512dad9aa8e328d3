#include "report/expert_shares.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace pptrain {
namespace {

/// Numbers of rows that experts of one layer have.
struct LayerRows {
  const std::int64_t* rows;
  std::size_t experts;

  bool are_counted() const { return *rows >= 0; }
  double sum() const {
    return static_cast<double>(std::accumulate(rows, rows + experts, std::int64_t{0}));
  }
  double most() const { return static_cast<double>(*std::max_element(rows, rows + experts)); }
};

}  // namespace

ExpertShares expert_shares(const MetricsHistory& history, std::size_t first_row) {
  const ExpertColumns& columns = history.experts;
  if (columns.size() == 0) return {};
  const std::vector<std::int64_t>& values = history.integers.at("experts/rows");
  const auto experts = static_cast<std::size_t>(columns.experts);
  const std::size_t num_layers = columns.layers.size();
  const std::size_t num_rows = values.size() / (num_layers * experts);
  ExpertShares shares;
  shares.of_layers.assign(num_layers, std::vector<double>(experts, 0.0));
  shares.fullest.assign(num_rows, std::numeric_limits<double>::quiet_NaN());
  for (std::size_t row = 0; row < num_rows; ++row) {
    for (std::size_t l = 0; l < num_layers; ++l) {
      const LayerRows of = {values.data() + (row * num_layers + l) * experts, experts};
      if (!of.are_counted() || of.sum() == 0.0) continue;
      const double fullest = of.most() * static_cast<double>(experts) / of.sum();
      shares.fullest[row] = std::fmax(shares.fullest[row], fullest);
      if (row < first_row) continue;
      for (std::size_t e = 0; e < experts; ++e)
        shares.of_layers[l][e] += static_cast<double>(of.rows[e]);
    }
  }
  for (std::vector<double>& layer : shares.of_layers) {
    const double sum = std::accumulate(layer.begin(), layer.end(), 0.0);
    for (double& share : layer) share = sum > 0.0 ? share / sum : 0.0;
  }
  return shares;
}

}  // namespace pptrain
