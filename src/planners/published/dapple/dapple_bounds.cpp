#include "planners/published/dapple/dapple_bounds.hpp"

#include <algorithm>
#include <set>
#include <utility>

#include "base/infinity.hpp"

namespace pptrain {
namespace {

/// More steps than this are not worth a better bound.
constexpr double most_chain_steps = 2e7;

/// The smallest ratio of two times of any layer.
double least_ratio(const std::vector<double>& seconds, const std::vector<double>& fastest) {
  double ratio = infinity;
  for (std::size_t l = 0; l < seconds.size(); ++l) {
    if (fastest[l] > 0.0) ratio = std::min(ratio, seconds[l] / fastest[l]);
  }
  return ratio == infinity ? 1.0 : ratio;
}

}  // namespace

DappleBounds::DappleBounds(const SearchSpace& space, const DappleCosts& costs)
    : costs_(costs),
      num_layers_(space.instance.profile.num_layers()),
      repeats_(costs.micro_batches() - 1.0) {
  find_work(space.instance.cluster.device_kinds.size());
  find_chains(space.instance.cluster.num_devices());
}

DappleBounds::Least DappleBounds::at(const Used& used, int end) const {
  const double slowest = work_[end] / used.power;
  Least least = {std::max(slowest, least_[end]), repeats_ * slowest};
  if (!chains_.empty()) {
    const Least& chain = chains_[used.count][end];
    least.sum = std::max(least.sum, chain.sum);
    least.slowest = std::max(least.slowest, chain.slowest);
  }
  return least;
}

/// A replica with b samples of kind k takes at least b times the kind's least seconds per sample,
/// which are at least those of the fastest kind times some ratio. So a stage takes at least the
/// micro-batch's seconds on one device of the fastest kind over the sum of 1 / ratio of its
/// devices, and the slowest of several stages at least those of all their layers over the sum of
/// all their devices.
void DappleBounds::find_work(std::size_t num_kinds) {
  std::vector<std::vector<double>> of_kinds(num_kinds, std::vector<double>(num_layers_, infinity));
  std::vector<double> fastest(num_layers_, infinity);
  std::vector<double> least(num_layers_, infinity);
  for (const auto& [shape, table] : costs_.tables()) {
    for (int l = 0; l < num_layers_; ++l) {
      least[l] = std::min(least[l], table.of(l, l + 1).both());
      for (std::size_t p = 0; p < shape.parts.size(); ++p) {
        const double seconds = table.seconds_per_sample(p, l);
        double& of_kind = of_kinds[shape.parts[p].kind][l];
        of_kind = std::min(of_kind, seconds);
        fastest[l] = std::min(fastest[l], seconds);
      }
    }
  }
  work_ = least_ = {0.0};
  for (int l = 0; l < num_layers_; ++l) {
    work_.push_back(work_.back() + fastest[l] * static_cast<double>(costs_.micro_batch()));
    least_.push_back(least_.back() + least[l]);
  }
  std::vector<double> ratios;
  for (const std::vector<double>& of_kind : of_kinds)
    ratios.push_back(least_ratio(of_kind, fastest));
  const auto power = [&ratios](const std::vector<int>& devices) {
    double sum = 0.0;
    for (std::size_t k = 0; k < ratios.size(); ++k) sum += devices[k] / ratios[k];
    return sum;
  };
  for (const PlacedStage& stage : costs_.graph().stages()) {
    before_.push_back({0, power(stage.earlier)});
    with_.push_back({0, power(stage.used)});
  }
}

/// The best chain of stages for each number of devices and layers, wherever the devices are.
void DappleBounds::find_chains(int num_devices) {
  std::set<std::pair<int, int>> steps;  // devices used before and after a stage
  for (std::size_t i = 0; i < before_.size(); ++i) {
    const PlacedStage& stage = costs_.graph().stages()[i];
    with_[i].count = num_devices - stage.num_left;
    before_[i].count = with_[i].count - stage.replicas;
    if (costs_.possible(static_cast<int>(i))) steps.emplace(before_[i].count, with_[i].count);
  }
  if (static_cast<double>(steps.size()) * num_layers_ * num_layers_ > most_chain_steps) return;
  const std::map<int, Fastest> stages = fastest_stages();
  chains_.assign(num_devices + 1, std::vector<Least>(num_layers_ + 1, {infinity, infinity}));
  chains_[0][0] = {0.0, 0.0};
  for (const auto& [from, to] : steps) extend(from, to, stages.at(to - from));
}

std::map<int, DappleBounds::Fastest> DappleBounds::fastest_stages() const {
  std::map<int, Fastest> stages;
  const std::size_t row = num_layers_ + 1;
  for (const auto& [shape, table] : costs_.tables()) {
    const auto [place, is_new] = stages.try_emplace(shape.replicas);
    Fastest& fastest = place->second;
    if (is_new)
      fastest = {std::vector<double>(row * row, infinity), std::vector<double>(row, infinity)};
    for (int begin = 0; begin < num_layers_; ++begin) {
      for (int end = begin + 1; end <= num_layers_; ++end) {
        const DappleStageCost& cost = table.of(begin, end);
        if (cost.most_in_flight < costs_.in_flight(2)) break;  // a stage comes behind
        fastest.both[begin * row + end] = std::min(fastest.both[begin * row + end], cost.both());
        if (begin == 0)
          fastest.all_reduce[end] = std::min(fastest.all_reduce[end], cost.all_reduce);
      }
    }
  }
  return stages;
}

/// Puts a stage behind the chains that use `from` devices.
void DappleBounds::extend(int from, int to, const Fastest& stage) {
  for (int begin = 0; begin < num_layers_; ++begin) {
    const Least& chain = chains_[from][begin];
    if (chain.sum == infinity) continue;
    for (int end = begin + 1; end <= num_layers_; ++end) {
      const double both = stage.both[begin * (num_layers_ + 1) + end];
      if (both == infinity) break;
      const double first = begin == 0 ? stage.all_reduce[end] : 0.0;
      Least& best = chains_[to][end];
      best.sum = std::min(best.sum, chain.sum + both + first);
      best.slowest = std::min(best.slowest, std::max(chain.slowest, repeats_ * both));
    }
  }
}

}  // namespace pptrain
