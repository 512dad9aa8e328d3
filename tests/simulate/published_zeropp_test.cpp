// ZeroPP's table 3 (Tang et al., 2024) in the simulator: dp 4 x pp 4 on 16 A800, layers divided by
// count, two chunks per rank where a schedule has chunks, one sample per micro-batch and replica.
// docs/papers.md has the figures.
#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <vector>

#include "cluster/read.hpp"
#include "program/check.hpp"
#include "schedule/schedule.hpp"
#include "simulate/simulate.hpp"
#include "support/catch.hpp"
#include "support/files.hpp"

namespace pptrain {
namespace {

constexpr int stages = 4;
constexpr int replicas = 4;
constexpr int chunks = 2;
/// As many micro-batches in a unit as the first stage of 1F1B stores.
constexpr int least_unit = stages;

const std::map<std::string, std::vector<int>> columns = {
    {"1.5b", {8, 16, 32}}, {"6.2b", {8, 16, 32}}, {"14.6b", {8, 16, 24}}};

Cluster two_nodes() {
  Cluster cluster = read_cluster(source_file("inputs/clusters/zeropp-8x8.toml"));
  cluster.groups.front().count = 2;
  cluster.finish("two nodes");
  return cluster;
}

Profile profile_of(const std::string& model) {
  return read_profile(source_file("inputs/profiles/gpt-") + model + "-analytic.json");
}

/// Embedding and output take as long as a block.
Profile with_equal_times(Profile profile) {
  for (ProfileLayer& layer : profile.layers) layer.rows = profile.layers[1].rows;
  return profile;
}

struct Method {
  std::string schedule;
  int unit = 0;
  int zero_stage = 1;
};

Plan plan_of(const Method& method, int num_layers, int micro_batches) {
  const int per_rank = method.schedule == "1f1b" || method.schedule == "gpipe" ? 1 : chunks;
  const std::vector<Interval> parts = even_division(num_layers, stages * per_rank);
  Plan plan = uniform_plan({parts.begin(), parts.begin() + stages}, replicas, 1,
                           std::int64_t{replicas} * micro_batches, replicas, method.schedule);
  plan.schedule.virtual_stages = per_rank;
  plan.schedule.unit = method.unit;
  for (int i = 0; i < stages; ++i) {
    plan.stages[i].zero_stage = method.zero_stage;
    for (int v = 1; v < per_rank; ++v) plan.stages[i].layers.push_back(parts[v * stages + i]);
  }
  return plan;
}

struct Result {
  double samples_per_second = 0.0;
  double peak_bytes = 0.0;
};

class Table {
 public:
  explicit Table(Profile profile) : profile_(std::move(profile)) {}

  Result run(const Method& method, int micro_batches) const {
    const Plan plan = plan_of(method, profile_.num_layers(), micro_batches);
    const Programs programs = compile_training(plan, task_orders(plan), {});
    check_programs(plan, programs);
    const Simulation simulation =
        simulate({profile_, cluster_, plan.global_batch_size}, plan, programs);
    double peak = 0.0;
    for (const SimulatedDevice& device : simulation.devices)
      peak = std::max(peak, device.peak_bytes);
    return {static_cast<double>(plan.global_batch_size) / simulation.makespan_seconds, peak};
  }

  double rate(const std::string& schedule, int micro_batches) const {
    return run({schedule}, micro_batches).samples_per_second;
  }

  bool fits(const Result& result) const {
    return result.peak_bytes <= cluster_.device_kinds.front().memory;
  }

  /// The fastest ZeroPP that fits.
  double best_zeropp(int micro_batches) const {
    double best = 0.0;
    for (const int unit : {4, 7, 8, 12, 16, 24, 32}) {
      if (unit > micro_batches) break;
      const Result result = run({"zeropp", unit}, micro_batches);
      if (fits(result)) best = std::max(best, result.samples_per_second);
    }
    return best;
  }

 private:
  Profile profile_;
  Cluster cluster_ = two_nodes();
};

TEST_CASE("ZeroPP at its best unit is ahead of all others in all columns of its table 3",
          "[published]") {
  for (const auto& [model, counts] : columns) {
    const Table table(profile_of(model));
    for (const int m : counts) {
      CAPTURE(model, m);
      const double best = table.best_zeropp(m);
      for (const std::string other : {"gpipe", "1f1b", "interleaved-1f1b", "breadth-first"}) {
        CAPTURE(other);
        CHECK(best > table.rate(other, m));  // also where that one does not fit
      }
    }
  }
}

TEST_CASE("breadth-first and interleaved are ahead of 1F1B in ZeroPP's table 3", "[published]") {
  for (const auto& [model, counts] : columns) {
    const Table table(profile_of(model));
    for (const int m : counts) {
      CAPTURE(model, m);
      const double plain = table.rate("1f1b", m);
      CHECK(table.rate("interleaved-1f1b", m) > plain);
      CHECK(table.rate("breadth-first", m) > plain);
    }
  }
}

// The times of embedding and output, which the paper does not tell, put it 0.2 to 1.6 % behind:
// docs/papers.md.
TEST_CASE("breadth-first is ahead of interleaved in ZeroPP's table 3 where layers take equal time",
          "[published]") {
  for (const auto& [model, counts] : columns) {
    const Table equal(with_equal_times(profile_of(model)));
    const Table real(profile_of(model));
    for (const int m : counts) {
      CAPTURE(model, m);
      CHECK(equal.rate("breadth-first", m) > equal.rate("interleaved-1f1b", m));
      CHECK(real.rate("breadth-first", m) > 0.98 * real.rate("interleaved-1f1b", m));
    }
  }
}

TEST_CASE(
    "sharded ZeroPP with small units needs no more memory than 1F1B, however many micro-batches",
    "[published]") {
  for (const std::string model : {"6.2b", "14.6b"}) {
    const Table table(profile_of(model));
    const std::vector<int>& counts = columns.at(model);
    const double first = table.run({"zeropp", least_unit, 3}, counts.front()).peak_bytes;
    for (const int m : counts) {
      CAPTURE(model, m);
      const double peak = table.run({"zeropp", least_unit, 3}, m).peak_bytes;
      CHECK(std::abs(peak - first) <= 0.05 * first);
      CHECK(peak <= 1.05 * table.run({"1f1b"}, m).peak_bytes);
    }
  }
}

}  // namespace
}  // namespace pptrain
