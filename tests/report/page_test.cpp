#include "report/page.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <fstream>

#include "cluster/read.hpp"
#include "data/files.hpp"
#include "io/run/metrics.hpp"
#include "report/document.hpp"
#include "report/plan_report.hpp"
#include "support/catch.hpp"
#include "support/complaint.hpp"

namespace pptrain {
namespace {

constexpr int num_stages = 8;
constexpr int num_replicas = 8;
constexpr std::size_t num_ranks = num_stages * num_replicas;

void write(const std::string& path, const std::string& text) { std::ofstream(path) << text; }

std::string cluster_text() {
  return R"(name = "large"
[[device]]
kind = "gpu"
memory = "16 GiB"
flops = { fp32 = "10 TFLOP/s" }
[[node]]
kind = "node"
count = 8
devices = { kind = "gpu", count = 8 }
link = { bandwidth = "100 Gbit/s", latency = "5 us" }
uplink = { bandwidth = "10 Gbit/s", latency = "25 us" }
)";
}

std::string profile_text() {
  std::string layers;
  for (int layer = 0; layer < 2 * num_stages; ++layer) {
    layers += (layer == 0 ? "" : ",") + std::string(R"({"name": "layer )") + std::to_string(layer) +
              R"(", "parameters": 1000000, "output_bytes": 1000000, "stored_bytes": 2000000,
                 "tensor_parallel_allreduce_bytes": 0, "seconds": [{"device": "gpu", "tensor_parallel": 1,
                 "samples": 1, "forward": 0.001, "backward_input": 0.001, "backward_weight": 0.001}]})";
  }
  return R"({"schema": "pptrain.profile/1", "model": "chain <of> layers",
             "bytes_per_parameter": {"weight": 4, "gradient": 4, "optimizer": 8}, "layers": [)" +
         layers + "]}";
}

Plan some_plan() {
  std::vector<Interval> layers;
  for (int stage = 0; stage < num_stages; ++stage) layers.push_back({2 * stage, 2 * stage + 2});
  Plan plan = uniform_plan(layers, num_replicas, 1, 512, 8, "1f1b");
  plan.planner = "auto";
  plan.model = "</script><b>";
  return plan;
}

MetricsHistory some_history(std::int64_t steps) {
  MetricsHistory history;
  history.num_ranks = num_ranks;
  for (std::int64_t step = 1; step <= steps; ++step) {
    const double x = static_cast<double>(step) * 1.2345678901;
    history.integers["steps/step"].push_back(step);
    history.integers["steps/peak_bytes"].push_back(1000000 + step);
    for (const char* name :
         {"loss", "grad_norm", "learning_rate", "loss_scale", "iteration_seconds",
          "tokens_per_second", "model_flops_utilization", "experts_balance"}) {
      history.reals[std::string("steps/") + name].push_back(2.0 + std::sin(x));
    }
    for (std::size_t rank = 0; rank < num_ranks; ++rank) {
      const double y = x + static_cast<double>(rank);
      for (const char* name : {"compute", "communication", "idle"}) {
        history.reals[std::string("ranks/") + name + "_seconds"].push_back(1.0 + std::cos(y));
      }
      history.integers["ranks/peak_bytes"].push_back(static_cast<std::int64_t>(rank) + step);
    }
  }
  history.integers["evaluation/step"] = {steps};
  history.reals["evaluation/loss"] = {2.5};
  history.integers["drift/step"] = {};
  history.integers["drift/rank"] = {};
  history.reals["drift/factor"] = {};
  return history;
}

/// The directory of a run of that many steps on 64 ranks.
void make_run(const std::string& path, std::int64_t steps,
              const std::map<std::string, std::string>& environment = {{"hosts", "n0,n1"}}) {
  std::filesystem::create_directories(path);
  write(path + "/cluster.toml", cluster_text());
  write(path + "/profile.json", profile_text());
  write(path + "/plan.json", write_plan(some_plan()));
  write(path + "/config.toml",
        "# </script><b>\n[training]\nsteps = " + std::to_string(steps) + "\n");
  const MetricsHistory history = some_history(steps);
  const MetricsFile metrics(path + "/metrics.h5", num_ranks, "{}", environment, &history);
}

TEST_CASE("10,000 steps of 64 ranks make a page of less than 3 MB", "[report]") {
  const TestFolder folder("report_large");
  make_run(folder.path("run"), 10000);
  const nlohmann::json document = report_document(read_run_folder(folder.path("run")));
  CHECK(document["series"]["rows_per_point"] == 10);
  CHECK(document["series"]["step"].size() == 1000);
  CHECK(document["series"]["step"].back() == 10000);
  CHECK(document["ranks"].size() == num_ranks);
  CHECK(document["ranks"][5]["peak_bytes"] == 10005);
  CHECK(document["timelines"]["predicted"]["devices"] == num_ranks);
  CHECK(document["timelines"]["predicted"]["seconds"].get<double>() > 0.0);
  CHECK(document["timelines"]["measured"]["seconds"] == 0.0);
  const std::string page = report_page(document);
  CHECK(page.size() < 3000000);
  CHECK(page.find("@DATA@") == std::string::npos);
}

TEST_CASE("nothing in a run's files ends the page's scripts or loads anything", "[report]") {
  const TestFolder folder("report_names");
  make_run(folder.path("run"), 3);
  nlohmann::json document = report_document(read_run_folder(folder.path("run")));
  document["job"]["name"] = "a <b> & c";
  const std::string page = report_page(document);
  CHECK(page.find("</script><b>") == std::string::npos);
  CHECK(page.find("<of>") == std::string::npos);
  for (const char* loads : {"<script src", "<link rel=\"stylesheet", "<img", "@import", "url("}) {
    INFO(loads);
    CHECK(page.find(loads) == std::string::npos);
  }
  CHECK(page.find("<title>a &lt;b> &amp; c ") != std::string::npos);
}

TEST_CASE("the mean time of a rank leaves the first step out", "[report]") {
  const TestFolder folder("report_ranks");
  make_run(folder.path("run"), 3);
  const nlohmann::json document = report_document(read_run_folder(folder.path("run")));
  const double mean = (2.0 + std::cos(2 * 1.2345678901 + 7) + std::cos(3 * 1.2345678901 + 7)) / 2.0;
  CHECK(document["ranks"][7]["compute"].get<double>() == Approx(mean).epsilon(1e-4));
}

TEST_CASE("of a run that was resumed, times are those since then, and plans those of its last job",
          "[report]") {
  const TestFolder folder("report_resumed");
  make_run(folder.path("run"), 6, {{"resumed_from", "elsewhere/checkpoints/step-3.h5"}});
  Plan later = some_plan();
  later.planner = "later";
  write(folder.path("run") + "/plan-after-5.json", write_plan(later));
  nlohmann::json document = report_document(read_run_folder(folder.path("run")));
  CHECK(document["job"]["resumed_step"] == 3);
  REQUIRE(document["plans"].size() == 2);
  CHECK(document["plans"][0]["from_step"] == 3);
  CHECK(document["plans"][1]["from_step"] == 5);
  CHECK(document["job"]["iteration_seconds"].get<double>() ==
        Approx(2.0 + std::sin(6 * 1.2345678901)).epsilon(1e-4));

  std::filesystem::remove(folder.path("run") + "/plan-after-5.json");
  document = report_document(read_run_folder(folder.path("run")));
  // The means are of steps 4 to 6 without the first, which begins cold.
  const double mean = (2.0 + std::cos(5 * 1.2345678901 + 7) + std::cos(6 * 1.2345678901 + 7)) / 2.0;
  CHECK(document["ranks"][7]["compute"].get<double>() == Approx(mean).epsilon(1e-4));
  const double median = 2.0 + (std::sin(5 * 1.2345678901) + std::sin(6 * 1.2345678901)) / 2.0;
  for (const char* name : {"iteration_seconds", "amount_per_second", "utilization"}) {
    CHECK(document["job"][name].get<double>() == Approx(median).epsilon(1e-4));
  }
}

TEST_CASE("utilisation of a run that was resumed goes by the peak of its last job's devices",
          "[report]") {
  const TestFolder folder("report_utilization");
  make_run(folder.path("run"), 6, {{"resumed_from", "elsewhere/checkpoints/step-3.h5"}});
  RunFolder run = read_run_folder(folder.path("run"));
  std::map<std::string, std::vector<double>>& reals = run.metrics.history.reals;
  reals["steps/tokens_per_second"] = {100, 200, 300, 400, 400, 400};
  reals["steps/model_flops_utilization"] = {0.9, 0.9, 0.9, 0.2, 0.2, 0.2};
  const nlohmann::json document = report_document(run);
  CHECK(document["series"]["model_flops_utilization"]["mean"] ==
        nlohmann::json({0.05, 0.1, 0.15, 0.2, 0.2, 0.2}));
}

TEST_CASE("utilisation of a run that was planned again goes by the peak of its last plan's devices",
          "[report]") {
  const TestFolder folder("report_utilization_plans");
  make_run(folder.path("run"), 6);
  RunFolder run = read_run_folder(folder.path("run"));
  run.plans.push_back({2, run.plans.back().plan});
  std::map<std::string, std::vector<double>>& reals = run.metrics.history.reals;
  reals["steps/tokens_per_second"] = {100, 200, 400, 400, 400, 400};
  reals["steps/model_flops_utilization"] = {0.9, 0.9, 0.2, 0.2, 0.2, 0.2};
  const nlohmann::json document = report_document(run);
  CHECK(document["series"]["model_flops_utilization"]["mean"] ==
        nlohmann::json({0.05, 0.1, 0.2, 0.2, 0.2, 0.2}));
}

TEST_CASE("steps have the seconds of training and the tokens until then", "[report]") {
  const TestFolder folder("report_axes");
  make_run(folder.path("run"), 3);
  const nlohmann::json series = report_document(read_run_folder(folder.path("run")))["series"];
  double sum = 0.0;
  for (int step = 1; step <= 3; ++step) {
    sum += 2.0 + std::sin(step * 1.2345678901);
    CHECK(series["seconds"][static_cast<std::size_t>(step - 1)].get<double>() ==
          Approx(sum).epsilon(1e-4));
  }
  CHECK(series["per_step"].get<std::int64_t>() % 512 == 0);  // samples of a step, times the tokens
                                                             // of each
}

TEST_CASE("a plan that nothing has run by has a page with memory by part and parts of the cluster",
          "[report]") {
  const TestFolder folder("report_plan");
  make_run(folder.path("run"), 0);
  RunFolder run = read_run_folder(folder.path("run"));
  const Instance instance = {run.profile, run.cluster, run.plans.back().plan.global_batch_size};
  run.plans.back().plan.predicted = predict(instance, run.plans.back().plan);
  const std::vector<OnFewerNodes> fewer = {
      {{1}, 1, 8, 4.0, ""}, {{4}, 4, 32, {}, "too small"}, {{8}, 8, 64, 1.0, ""}};
  const nlohmann::json document = plan_report_document(run, fewer);
  CHECK(document["job"]["planned_only"] == true);
  const nlohmann::json& device = document["nodes"][0]["devices"][0];
  CHECK(device["state"]["weights"] == 2 * 1000000 * 4);
  CHECK(device["state"]["optimizer"] == 2 * 1000000 * 8);
  CHECK(device["predicted_bytes"].get<double>() > 2 * 1000000 * (4 + 4 + 8));
  CHECK(document["timelines"]["predicted"]["rows"].size() == num_stages);  // the replicas of a
                                                                           // stage do the same
  CHECK(document["fewer_nodes"][1]["why_not"] == "too small");
  CHECK(document["fewer_nodes"][2]["kinds"][0]["nodes"] == 8);
  CHECK(report_page(document).size() > 1000);
}

TEST_CASE("a run without configuration, trace or placement is reported, with what is missing",
          "[report]") {
  const TestFolder folder("report_torn");
  make_run(folder.path("run"), 0);
  write(folder.path("run") + "/config.toml", "[job");
  write(folder.path("run") + "/trace.json", "{\"traceEv");
  const nlohmann::json document = report_document(read_run_folder(folder.path("run")));
  CHECK(document["notes"].size() == 2);
  CHECK(document["job"]["steps_done"] == 0);
  CHECK(report_page(document).size() > 1000);
}

TEST_CASE("a run directory has its full path, whatever it is named by", "[report]") {
  const TestFolder folder("report_path");
  make_run(folder.path("run"), 0);
  const std::string path = std::filesystem::absolute(folder.path("run")).lexically_normal();
  for (const char* end : {"", "/", "/.", "/../run/"}) {
    INFO(end);
    CHECK(read_run_folder(folder.path("run") + end).full_path() == path);
  }
}

TEST_CASE("a folder that is no run directory is refused", "[report]") {
  const TestFolder folder("report_none");
  const std::string message = complaint_of([&] { read_run_folder(folder.path("nothing")); });
  CHECK(message.find("is no run directory") != std::string::npos);
}

}  // namespace
}  // namespace pptrain
