// How long each planner takes, from two dozen layers on 16 devices to a hundred on 10,240, and how
// many plans that differ in a few layers or in micro-batches are simulated in a second.
#include <benchmark/benchmark.h>

#include "base/error.hpp"
#include "cluster/read.hpp"
#include "config/config.hpp"
#include "planners/judge/simulated_plan.hpp"
#include "planners/large_instances.hpp"
#include "planners/search.hpp"

namespace {

using namespace pptrain;

/// What is planned, made when it is first needed.
struct Job {
  std::string name;
  Profile (*profile)();
  Cluster (*cluster)();
  std::int64_t batch;
};

Profile gpt2() {
  return read_profile(PPTRAIN_SOURCE_DIR "/inputs/profiles/amp-gpt2-24-analytic.json");
}
Cluster aws() { return read_cluster(PPTRAIN_SOURCE_DIR "/inputs/clusters/aws-heterogeneous.toml"); }

/// AMP's heterogeneous cluster with four times the nodes and four times the devices on each.
Cluster aws_16_by_16() {
  Cluster cluster = aws();
  for (NodeGroup& group : cluster.groups) {
    group.count *= 4;
    group.num_devices *= 4;
  }
  cluster.finish("benchmark");
  return cluster;
}

const std::vector<Job> jobs = {
    {"GPT-2 24 layers, 4 x 4", gpt2, aws, 32},
    {"GPT-2 24 layers, 16 x 16", gpt2, aws_16_by_16, 512},
    {"100 layers, 128 x 8", [] { return blocks(100, 0.5); }, [] { return mixed_nodes(128, 8); },
     1024},
    {"100 layers, 1280 x 8", [] { return blocks(100, 0.5); }, [] { return mixed_nodes(1280, 8); },
     10240},
};

/// A search with the alternatives that are printed beside its plan, as `pptrain plan` times it.
void plan(benchmark::State& state, const std::string& planner, const Job& job) {
  const double longest = PlannerConfig().time_limit;  // then the best so far
  const Profile profile = job.profile();
  const Cluster cluster = job.cluster();
  const Instance instance = {profile, cluster, job.batch};
  for (auto _ : state) {
    try {
      const SearchResult result = search_plan(planner, instance, {}, job.name, Stop(longest));
      state.counters["complete"] = result.complete ? 1.0 : 0.0;
      if (!result.plan) {
        state.SkipWithError(result.why_not.c_str());
        return;
      }
      const Prediction& predicted = *result.plan->predicted;
      state.counters["candidates"] = static_cast<double>(result.plan->search_candidates);
      state.counters["iteration_seconds"] = predicted.iteration_seconds;
      state.counters["bound_seconds"] = predicted.lower_bound_seconds;
    } catch (const Error& refused) {
      state.SkipWithError(refused.what());
      return;
    }
  }
}

void bound(benchmark::State& state, const Job& job) {
  const Profile profile = job.profile();
  const Cluster cluster = job.cluster();
  for (auto _ : state) benchmark::DoNotOptimize(lower_bound_seconds({profile, cluster, job.batch}));
}

/// Schedules of plans that are simulated, with their chunks per stage.
struct Simulated {
  std::string schedule;
  int chunks;
};
const std::vector<Simulated> simulated = {
    {"1f1b", 1}, {"interleaved-1f1b", 4}, {"zeropp", 2}, {"auto", 2}};

/// The n-th of many plans for a batch on eight stages: layers moved over cuts, and one or two
/// samples at a time.
Plan neighbour(const Simulated& what, int layers, int devices, std::int64_t batch, int n) {
  constexpr int stages = 8;
  std::vector<Interval> chunks = even_division(layers, stages * what.chunks);
  int moves = n / 2;
  for (std::size_t c = 0; c + 1 < chunks.size(); ++c, moves /= 3) {
    const int more = moves % 3 - 1;
    chunks[c].end += more;
    chunks[c + 1].begin += more;
  }
  const int replicas = devices / stages;
  return uniform_plan(chunks, replicas, 1, batch, replicas * (1 + n % 2),
                      ScheduleChoice{what.schedule, what.chunks, 0});
}

void simulate_plans(benchmark::State& state, const Simulated& what, int devices) {
  constexpr int layers = 96;
  const Profile profile = blocks(layers, 0.5);
  const Cluster cluster = mixed_nodes(devices / 8, 8);
  const std::int64_t batch = 32 * devices;  // 128 micro-batches of one sample for each replica
  const Instance instance = {profile, cluster, batch};
  PlanSimulator simulator(instance);
  int n = 0;
  for (auto _ : state) {
    state.PauseTiming();
    const Plan plan = neighbour(what, layers, devices, batch, n++);
    state.ResumeTiming();
    benchmark::DoNotOptimize(simulator.of(plan));
  }
  state.SetItemsProcessed(n);
}

}  // namespace

int main(int argc, char** argv) {
  for (const Job& job : jobs) {
    for (const auto& planner : planners()) {
      const std::string name = planner->name();
      benchmark::RegisterBenchmark(
          (name + "/" + job.name).c_str(),
          [name, &job](benchmark::State& state) { plan(state, name, job); })
          ->Unit(benchmark::kMillisecond)
          ->Iterations(1);
    }
    benchmark::RegisterBenchmark(("lower bound/" + job.name).c_str(), [&job](
                                                                          benchmark::State& state) {
      bound(state, job);
    })->Unit(benchmark::kMillisecond);
  }
  for (const Simulated& what : simulated) {
    for (const int devices : {16, 64, 512, 10240}) {
      const std::string name =
          "simulated plans/" + what.schedule + ", " + std::to_string(devices) + " devices";
      benchmark::RegisterBenchmark(name.c_str(), [&what, devices](benchmark::State& state) {
        simulate_plans(state, what, devices);
      })->Unit(benchmark::kMillisecond);
    }
  }
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
