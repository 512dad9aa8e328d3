#include "planners/what_if/sweep_files.hpp"

#include <algorithm>
#include <iterator>
#include <nlohmann/json.hpp>
#include <sstream>

#include "planners/what_if/priced_sweep.hpp"
#include "support/catch.hpp"

namespace pptrain {
namespace {

TEST_CASE("files of a sweep have a row for each point and the described keys",
          "[planners][what_if]") {
  const Sweep sweep = swept();
  const nlohmann::json json = nlohmann::json::parse(sweep_json(sweep));
  CHECK(json.at("schema") == "pptrain.sweep/1");
  CHECK(json.at("planned") == 3);
  CHECK(json.at("points").size() == 6);
  for (const auto& [key, value] : json.items()) {
    const Texts names = sweep_keys::root.names();
    CHECK(std::find(names.begin(), names.end(), key) != names.end());
  }
  for (const auto& point : json.at("points")) {
    for (const auto& [key, value] : point.items()) {
      INFO(key);
      const Texts names = sweep_keys::point.names();
      CHECK(std::find(names.begin(), names.end(), key) != names.end());
    }
  }
  const std::string csv = sweep_csv(sweep);
  CHECK(std::count(csv.begin(), csv.end(), '\n') == 7);
  CHECK(csv.starts_with("node,node price,iteration_seconds,"));
  std::istringstream text(sweep_text(sweep));
  for (std::string line; std::getline(text, line);) CHECK(line.size() <= 80);
}

/// Two points without prices: a plan of 2 x 2 devices, and none.
Sweep small_sweep() {
  Sweep sweep;
  sweep.axes = {{SweepAxis::Kind::nodes, "big, node", "node", {"1"}},
                {SweepAxis::Kind::setting, "recompute", "parallelism.recompute", {"none", "full"}}};
  sweep.num_planned = 2;
  sweep.seconds = 1.5;
  SweepRow planned, none;
  planned.values = {"1", "none"};
  planned.cluster = none.cluster = nodes_of(1, 4);
  planned.tokens_per_sample = none.tokens_per_sample = 10.0;
  planned.on_front = true;
  planned.plan = uniform_plan({{0, 2}, {2, 4}}, 2, 1, 8, 4, "1f1b");
  planned.plan->predicted = Prediction();
  planned.plan->predicted->iteration_seconds = 0.5;
  planned.plan->predicted->speed = SpeedPrediction();
  planned.plan->predicted->speed->samples_per_second = 16.0;
  planned.plan->predicted->speed->tokens_per_second = 160.0;
  none.values = {"1", "full"};
  none.why_not = "device 0 (\"v\") lacks 1 B, all";
  sweep.rows = {planned, none};
  return sweep;
}

TEST_CASE("a line of CSV has what is known of a point, quoted where it has to be",
          "[planners][what_if]") {
  // A token takes a 160th of a second on each of four devices.
  CHECK(sweep_csv(small_sweep()) ==
        "\"big, node\",parallelism.recompute,iteration_seconds,samples_per_second,"
        "tokens_per_second,model_flops_utilization,devices_used,nodes_used,goodput,"
        "money_per_hour,money_per_step,money_per_billion_tokens,device_hours_per_billion_tokens,"
        "watts,training_seconds,training_node_hours,training_money,training_kilowatt_hours,"
        "currency,on_front,plan,why_not\n"
        "1,none,0.5,16,160,,4,,,,,,6944.44444,,,,,,,1,PP 2 DP 2 TP 1,\n"
        "1,full,,,,,,,,,,,,,,,,,,0,,\"device 0 (\"\"v\"\") lacks 1 B, all\"\n");
}

TEST_CASE("the document of a sweep leaves out what is not known", "[planners][what_if]") {
  const nlohmann::json json = nlohmann::json::parse(sweep_json(small_sweep()));
  CHECK_FALSE(json.contains("currency"));
  CHECK(json.at("seconds") == 1.5);
  CHECK(json.at("axes")[1] == nlohmann::json{{"kind", "setting"},
                                             {"name", "recompute"},
                                             {"key", "parallelism.recompute"},
                                             {"values", {"none", "full"}}});
  CHECK(json.at("points")[1] == nlohmann::json{{"values", {"1", "full"}},
                                               {"cluster", "made"},
                                               {"devices", 4},
                                               {"on_front", false},
                                               {"why_not", "device 0 (\"v\") lacks 1 B, all"}});
  const nlohmann::json& planned = json.at("points")[0];
  CHECK(planned.at("on_front") == true);
  CHECK(planned.at("schedule") == "1f1b");
  CHECK_FALSE(planned.contains("money_per_hour"));
  CHECK_FALSE(planned.contains("why_not"));
}

TEST_CASE("the table of a sweep has a column for each axis that is varied", "[planners][what_if]") {
  std::istringstream text(sweep_text(small_sweep()));
  std::vector<std::string> lines;
  for (std::string line; std::getline(text, line);) lines.push_back(line);
  REQUIRE(lines.size() >= 5);
  CHECK(lines[0] == "2 points, 2 planned in 1.5 s");
  const auto words = [](const std::string& line) {
    std::istringstream stream(line);
    return Texts(std::istream_iterator<std::string>(stream), {});
  };
  CHECK(words(lines[1]) ==
        Texts{"recompute", "step", "tokens/s", "MFU", "device-h/10^9", "PP/DP/TP/ZeRO"});
  CHECK(words(lines[2]) == Texts{"*", "none", "500", "ms", "160", "-", "6.94k", "2/2/1/0"});
  CHECK(words(lines[3]).front() == "full");
  CHECK(lines[3].find("no plan: device 0 (\"v\")") != std::string::npos);
}

}  // namespace
}  // namespace pptrain
