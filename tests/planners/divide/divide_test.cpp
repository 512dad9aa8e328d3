#include "planners/divide/divide.hpp"

#include <algorithm>
#include <functional>
#include <random>

#include "base/infinity.hpp"
#include "cost/instances.hpp"
#include "plan/zero_groups.hpp"
#include "planners/divide/division_bound.hpp"
#include "planners/divide/layer_balance.hpp"
#include "support/catch.hpp"

namespace pptrain {
namespace {

/// All divisions of `layers` layers over `stages` stages, boundaries ascending.
void for_each_division(int layers, int stages,
                       const std::function<void(const std::vector<Interval>&)>& visit) {
  std::vector<Interval> division;
  const std::function<void(int)> extend = [&](int begin) {
    const int left = stages - static_cast<int>(division.size());
    if (left == 1) {
      division.push_back({begin, layers});
      visit(division);
      division.pop_back();
      return;
    }
    for (int end = begin + 1; end <= layers - left + 1; ++end) {
      division.push_back({begin, end});
      extend(end);
      division.pop_back();
    }
  };
  extend(0);
}

/// The plain reference: every division as a plan, costed by `amp_terms` and `memory_bytes`.
std::optional<Division> best_by_enumeration(const Instance& instance, const Grid& grid,
                                            std::int64_t samples, const std::string& schedule,
                                            const StageModes& modes, ZeroGroup zero_group) {
  std::vector<Division> fitting;
  for_each_division(
      instance.profile.num_layers(), grid.pipeline, [&](const std::vector<Interval>& layers) {
        Plan plan = uniform_plan(layers, grid.data, grid.tensor, instance.global_batch_size,
                                 samples * grid.data, schedule);
        for (Stage& stage : plan.stages) {
          stage.recompute = modes.recompute;
          divide_state(stage, modes.zero_stage, zero_group, instance.cluster);
        }
        if (!why_not_fit(instance, plan).empty()) return;
        fitting.push_back({layers, amp_terms(instance, plan).iteration_seconds});
      });
  if (fitting.empty()) return std::nullopt;
  double least = fitting.front().seconds;
  for (const Division& division : fitting) least = std::min(least, division.seconds);
  return *std::find_if(fitting.begin(), fitting.end(), [least](const Division& d) {
    return d.seconds <= least * (1.0 + tie_tolerance);
  });
}

/// By node where all nodes share alike: else the memory of the fullest device is only bounded.
ZeroGroup zero_group_of(const Cluster& cluster, const Grid& grid, unsigned seed) {
  if (seed % 3 != 0) return ZeroGroup::replicas;
  for (const Stage& stage : uniform_plan(even_division(grid.pipeline, grid.pipeline), grid.data,
                                         grid.tensor, grid.data, grid.data, "1f1b")
                                .stages) {
    const std::vector<Interval> groups = node_groups(cluster, stage);
    for (const Interval& group : groups) {
      if (group.size() != groups.front().size()) return ZeroGroup::replicas;
    }
  }
  return ZeroGroup::node;
}

class RandomInstance {
 public:
  explicit RandomInstance(unsigned seed) : random_(seed) {
    const int num_layers = pick(1, 8);
    const bool has_ties = pick(0, 2) == 0;
    for (int l = 0; l < num_layers; ++l) {
      ProfileLayer made = has_ties ? layer(fmt::format("{}", l), pick(0, 1), pick(1, 2), 1)
                                   : layer(fmt::format("{}", l), real(), real(), real());
      made.parameters = pick(0, 3) * 10;
      made.output_bytes = pick(0, 400);
      made.stored_bytes = pick(0, 30);
      made.tensor_parallel_allreduce_bytes = pick(0, 1) * pick(0, 100);
      profile.layers.push_back(made);
    }
    add_kind(profile, "t", has_ties ? pick(1, 3) : 0.5 + 3.0 * real());
    for (ProfileLayer& l : profile.layers) {
      for (ProfileRow& row : l.rows) row.seconds.backward_weight *= has_ties ? 1.0 : 0.5 + real();
    }
    add_degree(profile, 2);
    add_degree(profile, 4);
    const double memory = pick(0, 1) == 0 ? 1e6 : 300.0 + 3000.0 * real();
    cluster = nodes_of(pick(1, 3), pick(1, 3), memory);
    add_slow_node(cluster, pick(1, 3), memory * (0.5 + real()));
    cluster.groups[1].uplink.bandwidth = 20.0 + 200.0 * real();
    if (pick(0, 1) == 0) {  // a fast node behind the slow one: the stages' speeds fall and rise
                            // again
      cluster.groups.push_back(cluster.groups.front());
      cluster.groups.back().count = 1;
    }
    cluster.finish("made");
    batch = 12;
  }

  int pick(int low, int high) { return std::uniform_int_distribution<int>(low, high)(random_); }
  double real() { return std::uniform_real_distribution<double>(0.0, 1.0)(random_); }

  Profile profile;
  Cluster cluster;
  std::int64_t batch = 0;

 private:
  std::mt19937 random_;
};

TEST_CASE("the division is the best of all, with mixed devices and little memory", "[planners]") {
  int num_solved = 0;
  int num_infeasible = 0;
  for (unsigned seed = 0; seed < 2000; ++seed) {
    const RandomInstance random(seed);
    const Instance instance = {random.profile, random.cluster, random.batch};
    LayerSums sums(instance);
    for (const Grid& grid : grids_of(random.cluster.num_devices(), {})) {
      if (!why_not_in_space(grid, instance, {}).empty()) continue;
      const ZeroGroup zero_group = zero_group_of(random.cluster, grid, seed);
      for (const std::int64_t samples : samples_per_replica(grid, random.batch, {})) {
        const std::string schedule = samples % 2 == 0 ? "gpipe" : "1f1b";
        const StageModes modes = {seed % 4 == 3 ? Recompute::full : Recompute::none,
                                  static_cast<int>(seed / 4 % 4)};
        const ZeroGroup group = modes.zero_stage > 0 ? zero_group : ZeroGroup::replicas;
        const GridLayout layout = place(random.cluster, grid, group);
        const DivisionProblem problem(instance, sums, layout, samples * grid.data, schedule, modes);
        const std::optional<Division> fast = best_division(problem);
        const std::optional<Division> plain =
            best_by_enumeration(instance, grid, samples, schedule, modes, group);
        INFO("seed " << seed << ", " << to_string(grid) << ", samples " << samples);
        REQUIRE(fast.has_value() == plain.has_value());
        ++(fast ? num_solved : num_infeasible);
        if (!fast) continue;
        REQUIRE(fast->seconds == Approx(plain->seconds).epsilon(1e-13));
        REQUIRE(fast->layers == plain->layers);
        REQUIRE(problem.fits(fast->layers));
        REQUIRE(problem.iteration_seconds(fast->layers) == Approx(plain->seconds).epsilon(1e-13));
        REQUIRE(problem.form().seconds(bound_of(problem)) <= plain->seconds);
        REQUIRE(best_division(problem, plain->seconds)->layers == plain->layers);
        REQUIRE_FALSE(best_division(problem, plain->seconds * (1 - 1e-9)));
      }
    }
  }
  CHECK(num_solved > 5000);
  CHECK(num_infeasible > 1000);
}

/// All Pareto labels of the first stages for every number of layers, with their boundaries: AMP's
/// dynamic programme with nothing left out by bounds.
std::vector<Interval> best_by_labels(const DivisionProblem& problem) {
  struct Label {
    double sum, slowest, gradient;
    std::vector<Interval> layers;
  };
  const auto dominates = [](const Label& a, const Label& b) {
    return a.sum <= b.sum && a.slowest <= b.slowest && a.gradient <= b.gradient;
  };
  const int num_layers = problem.num_layers();
  std::vector<std::vector<Label>> labels(num_layers + 1);
  labels[0] = {{0.0, 0.0, 0.0, {}}};
  for (int i = 0; i < problem.num_stages(); ++i) {
    std::vector<std::vector<Label>> next(num_layers + 1);
    for (int begin = 0; begin < num_layers; ++begin) {
      for (int end = begin + 1; end <= num_layers && problem.fits(i, begin, end); ++end) {
        const double seconds = problem.stage_seconds(i, begin, end);
        const double gradient = problem.gradient_seconds(i, begin, end);
        for (const Label& label : labels[begin]) {
          Label with = {label.sum + seconds + problem.cut_seconds(i, end),
                        std::max(label.slowest, seconds), std::max(label.gradient, gradient),
                        label.layers};
          const auto is_better = [&](const Label& other) { return dominates(other, with); };
          if (std::any_of(next[end].begin(), next[end].end(), is_better)) continue;
          std::erase_if(next[end], [&](const Label& other) { return dominates(with, other); });
          with.layers.push_back({begin, end});
          next[end].push_back(std::move(with));
        }
      }
    }
    labels = std::move(next);
  }
  const auto seconds = [&](const Label& l) {
    return problem.form().repeats() * l.slowest + l.sum + l.gradient;
  };
  const auto best =
      std::min_element(labels[num_layers].begin(), labels[num_layers].end(),
                       [&](const Label& a, const Label& b) { return seconds(a) < seconds(b); });
  return best == labels[num_layers].end() ? std::vector<Interval>{} : best->layers;
}

TEST_CASE("branch and bound finds what a programme over all labels finds", "[planners]") {
  int num_solved = 0;
  for (unsigned seed = 0; seed < 600; ++seed) {
    std::mt19937 random(seed);
    const auto real = [&](double low, double high) {
      return std::uniform_real_distribution<double>(low, high)(random);
    };
    Profile profile;
    for (int l = 0; l < 24; ++l) {
      profile.layers.push_back(layer(fmt::format("{}", l), real(0.5, 1.5), real(0, 1), real(0, 1)));
      profile.layers.back().output_bytes = real(0, 500);
      profile.layers.back().parameters = real(0, 500);
      profile.layers.back().stored_bytes = real(0, 50);
    }
    add_kind(profile, "t", 1.5);
    for (ProfileLayer& l : profile.layers) l.rows.back().seconds.forward *= real(0.5, 1.5);
    Cluster cluster = nodes_of(2, 2, real(0.0, 1.0) < 0.5 ? 1e6 : 1e5);
    add_slow_node(cluster, 2);
    for (int node = 0; node < 3; ++node) {  // fast and slow in turn
      cluster.groups.push_back(cluster.groups[node % 2]);
      cluster.groups.back().count = 1;
      cluster.groups.back().uplink.bandwidth = real(50, 500);
    }
    cluster.finish("made");
    const Instance instance = {profile, cluster, std::int64_t{2} << (seed % 6)};
    LayerSums sums(instance);
    for (const Grid& grid : {Grid{12, 1, 1}, Grid{6, 2, 1}, Grid{4, 3, 1}}) {
      if (instance.global_batch_size % grid.data != 0) continue;
      const DivisionProblem problem(instance, sums, place(cluster, grid), grid.data, "1f1b");
      const std::optional<Division> fast = best_division(problem);
      INFO("seed " << seed << ", " << to_string(grid));
      REQUIRE((fast ? fast->layers : std::vector<Interval>{}) == best_by_labels(problem));
      num_solved += fast ? 1 : 0;
    }
  }
  CHECK(num_solved > 400);
}

TEST_CASE("of equally good divisions the one with the smallest boundaries is taken", "[planners]") {
  Profile profile;
  for (int l = 0; l < 5; ++l) profile.layers.push_back(layer(fmt::format("{}", l), 0.1, 0.1, 0.1));
  const Cluster cluster = nodes_of(1, 2);
  const Instance instance = {profile, cluster, 4};
  const GridLayout layout = place(cluster, {2, 1, 1});
  LayerSums sums(instance);
  const DivisionProblem problem(instance, sums, layout, 1, "1f1b");
  // Two and three layers, or three and two: max t_i and the sum are equal up to rounding.
  CHECK(best_division(problem)->layers == std::vector<Interval>{{0, 2}, {2, 5}});
}

TEST_CASE("the gradient term is minimised together with the pipeline", "[planners]") {
  Profile profile;
  profile.layers = {layer("a", 1, 1, 1), layer("b", 1, 1, 1), layer("c", 1, 1, 1)};
  profile.layers[0].parameters = 1000;
  profile.layers[1].parameters = 1000;  // with a: 8000 bytes, 8 s at 1000 B/s; alone 4 s
  const Cluster cluster = nodes_of(1, 4);
  const Instance instance = {profile, cluster, 2};
  const GridLayout layout = place(cluster, {2, 2, 1});
  LayerSums sums(instance);
  // One micro-batch: the pipeline costs 9 + 1 whichever the cut, so the all-reduce decides.
  const Division best = *best_division(DivisionProblem(instance, sums, layout, 2, "1f1b"));
  CHECK(best.layers == std::vector<Interval>{{0, 1}, {1, 3}});
  CHECK(best.seconds == Approx(9.0 + 1.0 + 4.0 + 1.0));
}

TEST_CASE("layers balanced by weight, smallest boundaries first", "[planners]") {
  CHECK(balanced_division({1, 1, 1, 1, 1}, 2) == std::vector<Interval>{{0, 2}, {2, 5}});
  CHECK(balanced_division({9, 1, 1, 1}, 3) == std::vector<Interval>{{0, 1}, {1, 2}, {2, 4}});
  CHECK(balanced_division({0, 0, 5}, 3) == std::vector<Interval>{{0, 1}, {1, 2}, {2, 3}});
}

/// Layers balanced by weight, by trying every end of every stage.
std::vector<Interval> plainly_balanced(const std::vector<double>& weights, int stages) {
  const int layers = static_cast<int>(weights.size());
  std::vector<double> sums = {0.0};
  for (const double weight : weights) sums.push_back(sums.back() + weight);
  std::vector<std::vector<double>> worst(stages + 1, std::vector<double>(layers + 1, infinity));
  worst[stages][layers] = 0.0;
  for (int i = stages - 1; i >= 0; --i) {
    for (int begin = i; begin < layers; ++begin) {
      for (int end = begin + 1; end <= layers; ++end) {
        worst[i][begin] =
            std::min(worst[i][begin], std::max(sums[end] - sums[begin], worst[i + 1][end]));
      }
    }
  }
  std::vector<Interval> division;
  for (int i = 0, begin = 0; i < stages; ++i) {
    int end = begin + 1;
    while (std::max(sums[end] - sums[begin], worst[i + 1][end]) > worst[0][0]) ++end;
    division.push_back({begin, end});
    begin = end;
  }
  return division;
}

TEST_CASE("layers are balanced as by trying every division", "[planners]") {
  std::mt19937 random(5);
  for (int trial = 0; trial < 3000; ++trial) {
    const int layers = std::uniform_int_distribution<int>(1, 14)(random);
    const int stages = std::uniform_int_distribution<int>(1, layers)(random);
    const int most = trial % 3 == 0 ? 2 : 1000;  // few different ones: ties, and layers without
                                                 // weight
    std::vector<double> weights;
    for (int l = 0; l < layers; ++l) {
      weights.push_back(0.1 * std::uniform_int_distribution<int>(0, most)(random));
    }
    INFO("trial " << trial);
    REQUIRE(balanced_division(weights, stages) == plainly_balanced(weights, stages));
  }
}

TEST_CASE("a division that is stopped is the best so far, or none", "[planners]") {
  Profile profile;
  for (int l = 0; l < 3000; ++l)
    profile.layers.push_back(layer(fmt::format("{}", l), 1 + l % 7, 1, 1));
  const Cluster cluster = nodes_of(2, 4, 1e12);
  const Instance instance = {profile, cluster, 8};
  LayerSums sums(instance);
  const DivisionProblem problem(instance, sums, place(cluster, {8, 1, 1}), 1, "1f1b");
  const std::optional<Division> stopped = best_division(problem, infinity, Stop(1e-9));
  const Division best = *best_division(problem);
  if (stopped) {
    CHECK(stopped->layers.size() == 8);
    CHECK(stopped->seconds >= best.seconds * (1 - 1e-12));
    CHECK(stopped->seconds == Approx(problem.iteration_seconds(stopped->layers)));
  }
  CHECK(roomiest_division(problem, Stop(1e-9)).size() == 8);
}

TEST_CASE("a hundred layers over fifty mixed stages are divided at once", "[planners]") {
  std::mt19937 random(3);
  std::uniform_real_distribution<double> real(0.1, 1.0);
  Profile profile;
  for (int l = 0; l < 100; ++l) {
    profile.layers.push_back(layer(fmt::format("{}", l), real(random), real(random), real(random)));
    profile.layers.back().output_bytes = 100 * real(random);
    profile.layers.back().parameters = 100 * real(random);
  }
  add_kind(profile, "t", 2.3);
  Cluster cluster = nodes_of(13, 6);
  add_slow_node(cluster, 22);
  const Instance instance = {profile, cluster, 64};
  LayerSums sums(instance);
  const DivisionProblem problem(instance, sums, place(cluster, {50, 2, 1}), 2, "1f1b");
  CHECK(best_division(problem).has_value());
}

}  // namespace
}  // namespace pptrain
