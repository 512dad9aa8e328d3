#include <map>

#include "base/infinity.hpp"
#include "cost/random_plans.hpp"
#include "support/catch.hpp"

namespace pptrain {
namespace {

/// Every division of the layers, mesh, order of the devices, division of the samples and
/// micro-batch size, with any devices left out, that fits without saving memory, costed as plans
/// one after another.
class AllPlans {
 public:
  explicit AllPlans(const Instance& instance) : instance_(instance) {}

  double least_amp() {
    plan_.global_batch_size = instance_.global_batch_size;
    for (std::int64_t b = 1; b <= instance_.global_batch_size; ++b) {
      if (instance_.global_batch_size % b != 0) continue;
      plan_.micro_batch_size = b;
      plan_.micro_batches = instance_.global_batch_size / b;
      std::vector<int> order(instance_.cluster.num_devices());
      std::iota(order.begin(), order.end(), 0);
      do {
        add_stage(order, 0, 0);
      } while (std::next_permutation(order.begin(), order.end()));
    }
    return least_;
  }

 private:
  void add_stage(const std::vector<int>& order, int layer, int device) {
    const int num_layers = instance_.profile.num_layers();
    if (layer == num_layers) {
      const double seconds = amp_terms(instance_, plan_).iteration_seconds;
      if (seconds < least_ && why_not_fit(instance_, plan_).empty()) least_ = seconds;
      return;
    }
    const int left = instance_.cluster.num_devices() - device;
    for (int end = layer + 1; end <= num_layers; ++end) {
      for (int members = 1; members <= std::min(left, 3); ++members) {
        for (int replicas = 1; replicas * members <= left && replicas <= plan_.micro_batch_size;
             ++replicas) {
          Stage stage;
          stage.layers = {{layer, end}};
          stage.replicas = replicas;
          stage.tensor_parallel = members;
          for (int j = 0, next = device; j < replicas; ++j) {
            stage.devices.emplace_back();
            for (int k = 0; k < members; ++k) stage.devices.back().emplace_back(order[next++]);
          }
          divide_samples(order, stage, 0, device + replicas * members);
        }
      }
    }
  }

  void divide_samples(const std::vector<int>& order, const Stage& stage, std::int64_t begin,
                      int next_device) {
    const auto left =
        static_cast<std::int64_t>(stage.replicas) - static_cast<std::int64_t>(stage.samples.size());
    if (left == 0) {
      if (begin != plan_.micro_batch_size) return;
      plan_.stages.push_back(stage);
      add_stage(order, static_cast<int>(stage.layers[0].end), next_device);
      plan_.stages.pop_back();
      return;
    }
    for (std::int64_t end = begin + 1; end <= plan_.micro_batch_size - (left - 1); ++end) {
      Stage more = stage;
      more.samples.push_back({begin, end});
      divide_samples(order, more, end, next_device);
    }
  }

  const Instance& instance_;
  Plan plan_;
  double least_ = infinity;
};

TEST_CASE("no bound exceeds the optimum over all plans of small instances", "[cost]") {
  RandomInstances random(11);
  constexpr int trials = 1200;
  int fitting = 0;
  for (int trial = 0; trial < trials; ++trial) {
    const bool tight = trial % 3 == 0;
    const Cluster cluster = random.cluster(4, tight ? random.between(50.0, 1000.0) : 1e9);
    const Profile profile = random.profile(random.pick(1, 3), 4);
    const Instance instance = {profile, cluster, random.pick(1, 4)};
    const double least = AllPlans(instance).least_amp();
    const double bound = lower_bound_seconds(instance, Recompute::none);
    CAPTURE(trial, cluster.num_devices(), profile.num_layers(), instance.global_batch_size, least);
    REQUIRE(lower_bound_seconds(instance) <= bound);
    REQUIRE(bound <= least);
    REQUIRE(bound > 0.0);
    fitting += least < infinity ? 1 : 0;
  }
  CHECK(fitting > 1000);
}

TEST_CASE("no random plan beats a bound", "[cost]") {
  RandomInstances random(12);
  int fitting = 0;
  for (int trial = 0; trial < 400; ++trial) {
    const Cluster cluster =
        random.cluster(9, random.chance(0.5) ? random.between(100.0, 2000.0) : 1e9);
    const Profile profile = random.profile(random.pick(1, 8), 12);
    const Instance instance = {profile, cluster, random.pick(1, 12)};
    std::optional<Recompute> recompute;
    if (random.chance(0.7)) recompute = random.chance(0.5) ? Recompute::none : Recompute::full;
    const double bound = lower_bound_seconds(instance, recompute);
    CAPTURE(trial);
    for (int i = 0; i < 50; ++i) {
      const Plan plan = random.plan(instance, recompute);
      validate_plan(plan, profile.num_layers(), cluster.num_devices(), "made");
      if (!why_not_fit(instance, plan).empty()) continue;
      ++fitting;
      REQUIRE(bound <= amp_terms(instance, plan).iteration_seconds);
    }
  }
  CHECK(fitting > 8000);
}

/// Runs F, B and W of a pipeline as early as possible: nothing is exchanged, memory is unlimited,
/// and weights' gradients wait until nothing else is at hand. As cheap as a schedule can be made.
class FreeSchedule {
 public:
  FreeSchedule(const Instance& instance, const Plan& plan) : instance_(instance), plan_(plan) {
    for (int i = 0; i < plan.num_stages(); ++i) {
      for (const Interval& layers : plan.stages[i].layers)
        chunks_[layers.begin] = {i, times(plan.stages[i], layers)};
    }
  }

  double makespan() {
    std::vector<Task> open;
    int chunk = 0;
    for (const auto& [begin, owner] : chunks_) {
      for (int m = 0; m < plan_.micro_batches; ++m) {
        for (int pass = 0; pass < 3; ++pass)
          open.push_back({pass, chunk, m, owner.stage, owner.seconds[pass]});
      }
      ++chunk;
    }
    std::vector<double> free(plan_.stages.size(), 0.0);
    while (!open.empty()) {
      // The task that can start first; of those B before F before W, then by micro-batch and chunk.
      auto best = open.end();
      double best_start = infinity;
      for (auto task = open.begin(); task != open.end(); ++task) {
        const double start = std::max(free[task->stage], ready(*task));
        if (start < best_start || (start == best_start && order(*task) < order(*best))) {
          best = task;
          best_start = start;
        }
      }
      free[best->stage] = best_start + best->seconds;
      ends_[{best->pass, best->chunk, best->micro_batch}] = free[best->stage];
      open.erase(best);
    }
    return *std::max_element(free.begin(), free.end());
  }

 private:
  struct Owner {
    int stage = 0;
    std::vector<double> seconds;  // of F, B and W
  };
  struct Task {
    int pass = 0;  // F, B, W
    int chunk = 0;
    int micro_batch = 0;
    int stage = 0;
    double seconds = 0.0;
  };

  std::vector<double> times(const Stage& stage, Interval layers) const {
    std::vector<double> slowest(3, 0.0);
    for (int j = 0; j < stage.replicas; ++j) {
      for (const DeviceId device : stage.devices[j]) {
        LayerSeconds sum;
        for (std::int64_t l = layers.begin; l < layers.end; ++l) {
          const LayerSeconds seconds = *instance_.profile.seconds(
              static_cast<int>(l), instance_.cluster.kind_of(device).name, stage.tensor_parallel,
              static_cast<double>(stage.samples[j].size()));
          sum.forward += seconds.forward;
          sum.backward_input += seconds.backward_input;
          sum.backward_weight += seconds.backward_weight;
        }
        slowest = {std::max(slowest[0], sum.forward), std::max(slowest[1], sum.backward_input),
                   std::max(slowest[2], sum.backward_weight)};
      }
    }
    return slowest;
  }

  double end_of(int pass, int chunk, int micro_batch) const {
    const auto found = ends_.find({pass, chunk, micro_batch});
    return found == ends_.end() ? infinity : found->second;
  }

  double ready(const Task& task) const {
    if (task.pass == 2) return end_of(1, task.chunk, task.micro_batch);
    if (task.pass == 0) return task.chunk == 0 ? 0.0 : end_of(0, task.chunk - 1, task.micro_batch);
    const bool last = task.chunk + 1 == static_cast<int>(chunks_.size());
    return std::max(end_of(0, task.chunk, task.micro_batch),
                    last ? 0.0 : end_of(1, task.chunk + 1, task.micro_batch));
  }

  static std::vector<int> order(const Task& task) {
    return {task.pass == 1 ? 0 : task.pass == 0 ? 1 : 2, task.micro_batch, task.chunk};
  }

  const Instance& instance_;
  const Plan& plan_;
  std::map<std::int64_t, Owner> chunks_;  // by first layer
  std::map<std::vector<int>, double> ends_;
};

TEST_CASE("no schedule beats the bound on all schedules", "[cost]") {
  RandomInstances random(13);
  double gap = infinity;
  for (int trial = 0; trial < 300; ++trial) {
    const Cluster cluster = random.cluster(4);
    Profile profile = random.profile(random.pick(1, 8), 8);
    for (ProfileLayer& one : profile.layers)
      one.output_bytes = one.tensor_parallel_allreduce_bytes = 0.0;
    const Instance instance = {profile, cluster, random.pick(1, 8)};
    const double bound = lower_bound_seconds(instance);
    CAPTURE(trial);
    for (int i = 0; i < 20; ++i) {
      Plan plan = random.plan(instance);
      for (Stage& stage : plan.stages) stage.blocks.clear();
      const double makespan = FreeSchedule(instance, plan).makespan();
      REQUIRE(bound <= makespan);
      if (plan.num_devices() > 1) gap = std::min(gap, makespan / bound);
    }
  }
  CHECK(gap < 1.05);
}

TEST_CASE("the estimate of a perfect plan is its own bound", "[cost]") {
  // Four equal layers on one device: nothing can be shared, nothing is exchanged.
  Profile profile;
  for (int l = 0; l < 4; ++l) profile.layers.push_back(layer(fmt::format("{}", l), 1, 1, 1));
  Cluster cluster = nodes_of(1, 1);
  CHECK(lower_bound_seconds({profile, cluster, 6}) == Approx(72.0));
  // Two devices, no parameters: two replicas.
  cluster = nodes_of(1, 2);
  CHECK(lower_bound_seconds({profile, cluster, 6}) == Approx(36.0));
  // One sample: F and B pass all layers whatever the stages are.
  CHECK(lower_bound_seconds({profile, cluster, 1}) == Approx(8.0));
}

TEST_CASE("a layer that cannot be shared holds up the whole pipeline", "[cost]") {
  Profile profile;
  for (int l = 0; l < 4; ++l)
    profile.layers.push_back(layer(fmt::format("{}", l), l == 2 ? 7 : 1, 0, 0));
  const Cluster cluster = nodes_of(1, 8);
  // Batches of two samples: at most two replicas of the slow layer, 7 s for each sample.
  CHECK(lower_bound_seconds({profile, cluster, 2}) == Approx(10.0));
  // All eight devices take some of 100 samples.
  CHECK(lower_bound_seconds({profile, cluster, 100}) == Approx(100 * 10.0 / 8));
}

TEST_CASE("rows that need more samples than there are do not count", "[cost]") {
  Profile profile;
  profile.layers = {layer("a", 1, 0, 0)};
  profile.layers[0].rows.push_back({"v", 1, 64.0, {6.4, 0, 0}, true});  // ten times as fast per
                                                                        // sample
  const Cluster cluster = nodes_of(1, 1);
  CHECK(lower_bound_seconds({profile, cluster, 1}) == Approx(1.0));
  CHECK(lower_bound_seconds({profile, cluster, 64}) == Approx(6.4));
  // 8 samples: 1 + 7/63 * 5.4 on the line between the rows
  CHECK(lower_bound_seconds({profile, cluster, 8}) == Approx(1.0 + 7.0 / 63.0 * 5.4));
}

TEST_CASE("layers that take no time are bounded by nothing", "[cost]") {
  Profile profile;
  profile.layers = {layer("a", 0, 0, 0), layer("b", 0, 0, 0)};
  const Cluster cluster = nodes_of(2, 2);
  CHECK(lower_bound_seconds({profile, cluster, 4}) == 0.0);
}

}  // namespace
}  // namespace pptrain
