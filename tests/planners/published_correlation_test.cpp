// How our closed forms rank the plans that AMP and Sailor measured (benchmarks/papers.json;
// docs/papers.md has all of them). AMP calls a Spearman correlation of 0.5 "a reasonably strong
// positive correlation".
#include <algorithm>
#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>

#include "cluster/read.hpp"
#include "config/read.hpp"
#include "cost/cost.hpp"
#include "support/catch.hpp"
#include "support/files.hpp"

namespace pptrain {
namespace {

using Json = nlohmann::json;

Json figures() {
  std::ifstream file(source_file("benchmarks/papers.json"));
  return Json::parse(file);
}

/// A measured plan: stages between boundaries, `samples` per replica and micro-batch, placed as AMP
/// does.
Plan plan_of(const Json& row, std::int64_t batch) {
  const int replicas = row.at("dp");
  const int degree = row.at("tmp");
  const std::int64_t samples = row.at("samples");
  Plan plan;
  plan.global_batch_size = batch;
  plan.micro_batch_size = samples * replicas;
  plan.micro_batches = batch / plan.micro_batch_size;
  plan.schedule.name = "1f1b";
  const std::vector<int> boundaries = row.at("boundaries");
  int device = 0;
  for (std::size_t i = 0; i + 1 < boundaries.size(); ++i) {
    Stage stage;
    stage.layers = {{boundaries[i], boundaries[i + 1]}};
    stage.replicas = replicas;
    stage.tensor_parallel = degree;
    for (int j = 0; j < replicas; ++j) {
      stage.samples.push_back({j * samples, (j + 1) * samples});
      stage.devices.emplace_back();
      for (int k = 0; k < degree; ++k) stage.devices.back().push_back(DeviceId(device++));
    }
    plan.stages.push_back(stage);
  }
  return plan;
}

/// Mean rank of each value; equal ones share the mean of theirs.
std::vector<double> ranks(const std::vector<double>& values) {
  std::vector<double> result;
  for (const double value : values) {
    const auto less =
        std::count_if(values.begin(), values.end(), [&](double v) { return v < value; });
    const auto equal = std::count(values.begin(), values.end(), value);
    result.push_back(static_cast<double>(less) + (static_cast<double>(equal) - 1.0) / 2.0);
  }
  return result;
}

/// Spearman's correlation.
double rank_correlation(const std::vector<double>& first, const std::vector<double>& second) {
  const std::vector<double> a = ranks(first);
  const std::vector<double> b = ranks(second);
  const double mean = (static_cast<double>(a.size()) - 1.0) / 2.0;
  double together = 0.0;
  double spread_a = 0.0;
  double spread_b = 0.0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    together += (a[i] - mean) * (b[i] - mean);
    spread_a += (a[i] - mean) * (a[i] - mean);
    spread_b += (b[i] - mean) * (b[i] - mean);
  }
  return together / std::sqrt(spread_a * spread_b);
}

/// Correlation of one closed form, by the profile and cluster that the job names, with the measured
/// seconds.
double correlation(const std::string& job, const std::vector<Json>& rows, const std::string& form) {
  const Config config = read_config(source_file("inputs/papers/") + job + ".toml");
  const Profile profile = read_profile(config.profile.file);
  const Cluster cluster = read_cluster(config.cluster.file);
  std::vector<double> estimated;
  std::vector<double> measured;
  for (const Json& row : rows) {
    const std::int64_t batch = row.value("batch", config.training.global_batch_size);
    const Plan plan = plan_of(row, batch);
    validate_plan(plan, profile.num_layers(), cluster.num_devices(), job);
    estimated.push_back(predict({profile, cluster, batch}, plan).estimates.at(form));
    measured.push_back(row.at("seconds"));
  }
  REQUIRE(estimated.size() >= 7);
  return rank_correlation(estimated, measured);
}

std::vector<Json> amp_rows(const std::string& setting) {
  std::vector<Json> rows;
  const Json all = figures();
  for (const Json& row : all.at("amp").at("measured").at("plans")) {
    if (row.at("setting") == setting) rows.push_back(row);
  }
  return rows;
}

TEST_CASE("both closed forms rank AMP's measured plans of GPT-2", "[published]") {
  for (const std::string form : {"amp", "dapple"}) {
    CAPTURE(form);
    CHECK(correlation("amp-gpt2-homogeneous", amp_rows("homogeneous"), form) >= 0.75);
    CHECK(correlation("amp-gpt2-heterogeneous", amp_rows("heterogeneous cluster"), form) >= 0.75);
  }
}

TEST_CASE("both closed forms rank Sailor's measured plans of OPT-350M", "[published]") {
  const Json all = figures();
  const std::vector<Json> rows = all.at("sailor").at("plans");
  for (const std::string form : {"amp", "dapple"}) {
    CAPTURE(form);
    CHECK(correlation("sailor-opt-350m", rows, form) >= 0.9);
  }
}

}  // namespace
}  // namespace pptrain
