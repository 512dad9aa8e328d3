#include "planners/describe/describe.hpp"

#include <algorithm>
#include <sstream>

#include "base/units.hpp"
#include "cost/instances.hpp"
#include "planners/describe/describe_alternatives.hpp"
#include "planners/describe/describe_summary.hpp"
#include "planners/judge/planned_orders.hpp"
#include "planners/search.hpp"
#include "simulate/simulate.hpp"
#include "support/catch.hpp"

namespace pptrain {
namespace {

Profile layers(int count) {
  Profile profile;
  for (int l = 0; l < count; ++l) {
    profile.layers.push_back(layer(fmt::format("{}", l), 1, 1, 1));
    profile.layers.back().stored_bytes = 10;
  }
  for (int n = 2; n <= 16; n *= 2) add_degree(profile, n);
  return profile;
}

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

/// The text with one space for each run of spaces and line ends.
std::string in_one_line(const std::string& text) {
  std::string line;
  for (const char c : text) {
    const bool is_space = c == ' ' || c == '\n';
    if (!is_space || line.empty() || line.back() != ' ') line += is_space ? ' ' : c;
  }
  return line;
}

TEST_CASE("the table of candidates has a row per grid, fastest first, the impossible last",
          "[planners]") {
  const Profile profile = layers(2);
  const Cluster cluster = nodes_of(1, 4);
  const SearchResult result = search_plan("auto", {profile, cluster, 8}, {}, "x");
  const std::string text = describe_candidates(result, cluster);
  CHECK(text.starts_with("candidate grids for 4 devices, schedule 1f1b\n"));
  CHECK(has(text, "micro-batches"));
  CHECK(std::count(text.begin(), text.end(), '\n') == 2 + 6);  // six grids of four devices
  CHECK(has(text, "  PP 4 x DP 1 x TP 1: 4 stages, but the model has 2 layers\n"));
  CHECK(text.find("PP 4 x DP 1 x TP 1") > text.find("PP 2 x DP 2 x TP 1"));
  for (std::size_t i = 1; i < result.grids.size(); ++i) {
    if (!result.grids[i].plan) continue;
    CHECK(result.grids[i - 1].plan->predicted->iteration_seconds <=
          result.grids[i].plan->predicted->iteration_seconds);
  }
}

TEST_CASE("a long table is cut with the number of rows left out", "[planners]") {
  const Profile profile = layers(16);
  const Cluster cluster = nodes_of(1, 16);
  SearchResult result = search_plan("auto", {profile, cluster, 16}, {}, "x");
  REQUIRE(result.grids.size() == 15);
  std::erase_if(result.grids, [](const GridCandidate& grid) { return !grid.plan; });
  while (result.grids.size() < 11) result.grids.push_back(result.grids.front());
  result.grids.resize(11);
  const std::string text = describe_candidates(result, cluster);
  CHECK(std::count(text.begin(), text.end(), '\n') == 2 + 8 + 1);
  CHECK(has(text, "... and 3 more"));
}

/// The seconds behind the words, as they are printed.
double printed_seconds(const std::string& text, const std::string& words) {
  const std::size_t place = text.find(words);
  REQUIRE(place != std::string::npos);
  std::istringstream rest(text.substr(place + words.size()));
  double number = 0.0;
  std::string unit;
  rest >> number >> unit;
  std::erase_if(unit, [](char c) { return c == ':' || c == ','; });
  return parse_quantity(fmt::format("{} {}", number, unit), Quantity::seconds).value();
}

void check_printed_ratio(const Plan& plan, const Cluster& cluster) {
  const std::string text = describe_plan(plan, cluster);
  CAPTURE(text);
  const double seconds = printed_seconds(text, "predicted iteration ");
  const double bound = printed_seconds(text, "no plan can take less than ");
  const std::string words = ": this one takes ";
  const double ratio = std::stod(text.substr(text.find(words) + words.size()));
  CHECK(ratio == Approx(seconds / bound).epsilon(0.016));  // each of the three is rounded to three
                                                           // digits, by 0.5 %
  CHECK(ratio >= 1.0);
}

TEST_CASE("the bound's ratio is that of the numbers beside it, whoever plans and predicts",
          "[planners]") {
  const Profile profile = layers(7);
  const Cluster cluster = nodes_of(2, 2);
  const Instance instance = {profile, cluster, 8};
  for (const auto& planner : planners()) {
    CAPTURE(planner->name());
    Plan plan = *search_plan(planner->name(), instance, {}, "x").plan;
    check_printed_ratio(plan, cluster);
    plan.predicted = predict(instance, plan);  // as of a plan that is too large to simulate
    REQUIRE(plan.predicted->basis != PredictionBasis::simulation);
    check_printed_ratio(plan, cluster);
    plan.predicted->lower_bound_seconds = plan.predicted->iteration_seconds / 2.351;
    CHECK(has(describe_plan(plan, cluster), ": this one takes 2.35 times that\n"));
  }
}

TEST_CASE("a plan is described with stages, prediction and other planners", "[planners]") {
  const Profile profile = layers(4);
  Cluster cluster = nodes_of(1, 4);
  Restrictions restrictions;
  restrictions.pipeline = 2;
  restrictions.data = 2;
  const Plan plan = *search_plan("amp", {profile, cluster, 8}, restrictions, "x").plan;
  const std::string text = describe_plan(plan, cluster);
  CHECK(text.starts_with("plan by amp: PP 2 x DP 2 x TP 1, schedule 1f1b"));
  CHECK(has(in_one_line(text), " 0-1 0-3 (2 each) "));
  CHECK(has(text, "predicted iteration"));
  CHECK(has(text, " times that\n"));
  const std::string more = describe_plan_in_full(plan, cluster);
  CHECK(has(more, "##.."));  // the first stage's layers
  CHECK(has(more, "compute of the slowest stage"));
  CHECK(has(in_one_line(more), "not possible: the configuration asks for another grid"));
  CHECK(has(in_one_line(text), "no plan: "));
  CHECK_FALSE(has(text, "share"));
}

TEST_CASE("the parts of the predicted time add up, and say why others lost", "[planners]") {
  const Profile profile = layers(4);
  const Cluster cluster = nodes_of(2, 2);
  const Plan plan = *search_plan("auto", {profile, cluster, 8}, {}, "x").plan;
  CHECK(plan.predicted->parts.sum() == Approx(plan.predicted->estimates.at("amp")).epsilon(1e-12));
  CHECK(plan.predicted->stage_seconds.size() == plan.stages.size());
  bool any_slower = false;
  for (const Alternative& other : plan.alternatives) {
    if (!other.feasible) continue;
    any_slower |= has(other.why_not, " +") || has(other.why_not, "hardly different") ||
                  has(other.why_not, "the same plan");
    Plan alone = plan;
    alone.alternatives = {other};  // names that share a row would stand between the lines of the
                                   // reason
    CHECK(has(in_one_line(describe_plan_in_full(alone, cluster)), in_one_line(other.why_not)));
  }
  CHECK(any_slower);
  const Plan back = parse_plan(write_plan(plan), "plan");
  CHECK(back.predicted->parts.sum() == plan.predicted->parts.sum());
  CHECK(back.predicted->stage_seconds == plan.predicted->stage_seconds);
}

/// What the simulator's devices compute in a plan's order.
double busy_seconds(const Instance& instance, const Plan& plan) {
  double busy = 0.0;
  for (const SimulatedDevice& device :
       simulate(instance, plan, planned_programs(instance, plan)).devices) {
    busy += device.busy_seconds;
  }
  return busy;
}

TEST_CASE("one share of computing is printed for a plan, also where devices share cores",
          "[planners]") {
  const Profile profile = layers(4);
  for (const int cores : {0, 2}) {
    CAPTURE(cores);
    Cluster cluster = nodes_of(1, 4);
    cluster.groups[0].cores = cores;
    cluster.finish("made");
    const Instance instance = {profile, cluster, 8};
    Restrictions restrictions;
    restrictions.schedule = "1f1b";  // that of the table
    const SearchResult result = search_plan("auto", instance, restrictions, "x");
    const Plan& plan = *result.plan;
    const Prediction& predicted = *plan.predicted;
    const double computing = 1.0 - predicted.bubble_fraction;
    CHECK(computing * 4 * predicted.iteration_seconds == Approx(busy_seconds(instance, plan)));
    if (cores > 0) CHECK(computing <= cores / 4.0);
    CHECK(
        has(describe_plan(plan, cluster), ", " + computing_text(predicted.bubble_fraction) + "\n"));
    for (const GridCandidate& candidate : result.grids) {
      if (!candidate.plan || !same_plan(*candidate.plan, plan)) continue;
      CHECK(candidate.plan->predicted->bubble_fraction == predicted.bubble_fraction);
    }
    CHECK(has(describe_candidates(result, cluster), format_percent(computing)));
  }
}

TEST_CASE("the bubble of the formula is a part of the formula's time, whatever the schedule hides",
          "[planners]") {
  const Profile profile = layers(4);
  const Cluster cluster = nodes_of(1, 4);
  Plan plan = uniform_plan({{0, 1}, {1, 2}, {2, 3}, {3, 4}}, 1, 1, 4, 1, "zb-v");
  plan.predicted = predict({profile, cluster, 4}, plan);
  plan.predicted->basis = PredictionBasis::simulation;
  plan.predicted->parts = {};
  plan.predicted->parts.compute = 4.0;
  plan.predicted->parts.bubble = 6.0;
  plan.predicted->iteration_seconds = 5.0;
  plan.predicted->bubble_fraction = 0.1;
  const std::string text = describe_plan(plan, cluster);
  CHECK(has(text, "predicted iteration 5 s by simulation, devices compute 90 % of it\n"));
  const std::string more = describe_plan_in_full(plan, cluster);
  CHECK(has(more, "closed-form estimate (AMP): 10 s; DAPPLE's: "));
  CHECK(has(in_one_line(more), "bubble 6 s 60 %"));
  CHECK(has(in_one_line(more), "hidden by overlap -5 s "));
}

TEST_CASE("devices that are left out are named", "[planners]") {
  const Profile profile = layers(2);
  const Cluster cluster = nodes_of(1, 3);
  Plan plan = uniform_plan({{0, 1}, {1, 2}}, 1, 1, 4, 1, "1f1b");
  plan.predicted = predict({profile, cluster, 4}, plan);
  CHECK(has(describe_plan(plan, cluster), "device 2 left out"));
}

/// A plan of one stage on one device, beside which others found these.
Plan beside(std::vector<Alternative> others) {
  const Profile profile = layers(2);
  const Cluster cluster = nodes_of(1, 3);
  Plan plan = uniform_plan({{0, 2}}, 1, 1, 4, 1, "1f1b");
  plan.predicted = predict({profile, cluster, 4}, plan);
  plan.predicted->iteration_seconds = 1.2;
  plan.alternatives = std::move(others);
  return plan;
}

TEST_CASE("planners that found the same share a row, in which their names are", "[planners]") {
  const std::string shape = "PP 2 x DP 1 x TP 1: hardly different";
  const Plan plan = beside({{"data-parallel", 2.4, true, "slower", {}},
                            {"amp", 1.236, true, shape, {}},
                            {"megatron", {}, false, "no room", {}},
                            {"alpa", 1.2362, true, shape, {}},
                            {"dapple", 1.236, true, "the same plan", {}},
                            {"random", {}, false, "no room", {}},
                            {"whale", 1.2358, true, shape, {}},
                            {"pipedream", 1.25, true, shape, {}}});
  CHECK(alternatives_text(plan) ==
        "  data-parallel     2.4 s   2.00 x  slower\n"
        "  amp, alpa, whale  1.24 s  1.03 x  PP 2 x DP 1 x TP 1: hardly different\n"
        "  megatron, random  -               not possible: no room\n"
        "  dapple            1.24 s  1.03 x  the same plan\n"
        "  pipedream         1.25 s  1.04 x  PP 2 x DP 1 x TP 1: hardly different\n");
}

TEST_CASE("many names of a row are in lines below each other, beside the reason", "[planners]") {
  const std::string reason =
      "PP 2 x DP 1 x TP 1: compute +1.2 s, gradient synchronization +20 ms, bubble -1 ms";
  std::vector<Alternative> others;
  for (const auto& planner : planners()) others.push_back({planner->name(), 2.0, true, reason, {}});
  const std::string text = alternatives_text(beside(others));
  CAPTURE(text);
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) CHECK(line.size() <= 80);
  for (const auto& planner : planners()) CHECK(has(text, planner->name()));
  CHECK(has(text, "+1.2 s"));
  CHECK(text.find("2 s") == text.rfind("2 s  "));  // one row
}

/// `count` stages of a layer each on a device of their own.
Plan line_of(int count, const Profile& profile, const Cluster& cluster) {
  std::vector<Interval> stages;
  for (int i = 0; i < count; ++i) stages.push_back({i, i + 1});
  Plan plan = uniform_plan(stages, 1, 1, 4, 1, "1f1b");
  plan.predicted = predict({profile, cluster, 4}, plan);
  return plan;
}

TEST_CASE("equal stages share a row, and what differs has one of its own", "[planners]") {
  const Profile profile = layers(8);
  const Cluster cluster = nodes_of(1, 8);
  Plan plan = line_of(8, profile, cluster);
  const std::string equal = in_one_line(describe_plan(plan, cluster));
  CHECK(has(equal, " 0-7 0-7 (1 each) "));
  plan.stages[3].recompute = Recompute::full;
  const std::string text = in_one_line(describe_plan(plan, cluster));
  CAPTURE(text);
  CHECK(has(text, " 0-2 0-2 (1 each) "));
  CHECK(has(text, " 3 3 "));
  CHECK(has(text, "recompute full"));
  CHECK(has(text, " 4-7 4-7 (1 each) "));
  // Each stage has a row for who asks for more.
  const std::string more = in_one_line(describe_plan_in_full(plan, cluster));
  for (int i = 0; i < 8; ++i) CHECK(has(more, fmt::format(" {0} {0} ", i)));
}

TEST_CASE("blocks of a layer are numbered as layers are", "[planners]") {
  Plan plan = uniform_plan({{0, 8}}, 2, 1, 2, 2, "1f1b");
  for (std::int64_t layer = 1; layer < 8; layer += 2)
    plan.stages[0].blocks.push_back(
        {{layer, layer + 1}, 1, 2, TensorPattern::all_to_all, {{0, 2}}, {}});
  CHECK(has(in_one_line(describe_plan(plan, nodes_of(1, 2))),
            "layers 1, 3, ..., 7 all-to-all 1 x 2"));
}

TEST_CASE("a plan has 25 lines of the screen at most, however many stages differ", "[planners]") {
  constexpr int stages = 40;
  const Profile profile = layers(stages);
  const Cluster cluster = nodes_of(1, stages);
  Plan plan = line_of(stages, profile, cluster);
  for (int i = 0; i < stages; i += 2) plan.stages[i].recompute = Recompute::full;
  for (const auto& planner : planners())
    plan.alternatives.push_back({planner->name(), 2.0, true, "slower", {}});
  const std::string text = describe_plan(plan, cluster);
  CAPTURE(text);
  CHECK(std::count(text.begin(), text.end(), '\n') <= 25);
  CHECK(has(in_one_line(text), "see -v"));
  CHECK(has(in_one_line(text), " 39 39 "));  // the last one is shown
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) CHECK(line.size() <= 80);
}

/// A plan of which all is said, on two of the kinds of a cluster of three.
struct Said {
  Cluster cluster = nodes_of(2, 2);
  Plan plan = uniform_plan({{0, 1}, {1, 2}}, 2, 1, 4, 2, "1f1b");

  Said() {
    add_slow_node(cluster, 4);
    cluster.device_kinds[0].name = cluster.groups[0].device_kind =
        "amd-epyc-7763-64-core-processor";
    cluster.finish("made");
    plan.predicted = Prediction{};
    plan.predicted->iteration_seconds = 10.7;
    plan.predicted->lower_bound_seconds = 10.0;
    plan.predicted->estimates["dapple"] = 10.0;
    plan.predicted->basis = PredictionBasis::simulation;
    plan.predicted->stage_seconds = {1.0, 1.0};
    plan.predicted->peak_bytes.assign(8, 1e5);
    plan.predicted->speed =
        SpeedPrediction{12345.0, 1.2e6, "layers", 4.8e14, 0.4853, "bf16", 3e11, 2.5e5};
    plan.predicted->kinds = {{cluster.device_kinds[0].name, 4, 4, 8e10, 1610612736.0, 0.93, 0.03,
                              0.04, 4.8e14, 9.89e14, 0.4853},
                             {"t", 4, 0, 8e10, 1610612736.0, {}, {}, {}, {}, {}, {}}};
    plan.search_candidates = 5;
  }
};

TEST_CASE("a plan ends with what it comes to, in lines of the screen", "[planners]") {
  const Said said;
  const std::string text = summary_text(said.plan, said.cluster);
  CAPTURE(text);
  CHECK(has(describe_plan(said.plan, said.cluster), text));
  CHECK(has(text, "1.2M tokens/s, 12.3k samples/s\n"));
  CHECK(has(in_one_line(text), "480 TFLOP/s per device, 49 % of the peak in bf16"));
  CHECK(has(text, "300B tokens"));
  CHECK(has(text, " 2.89 days\n"));
  CHECK(has(in_one_line(text), "1.5 GiB of each t for drivers and libraries"));
  CHECK(has(in_one_line(text), "4 of 4 used, 93 % computing, 3 % waiting, 4 % idle, 49 % MFU"));
  CHECK(has(in_one_line(text), "t 0 of 4 used"));
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) CHECK(line.size() <= 80);
}

TEST_CASE("a plan says whether more effort may find a faster one", "[planners]") {
  Said said;
  const auto line = [&] { return in_one_line(describe_plan(said.plan, said.cluster)); };
  said.plan.search_complete = false;
  CHECK(has(line(), "5 candidates looked at; more effort may find a faster one"));
  said.plan.search_complete = true;
  CHECK(has(line(), "5 candidates looked at"));
  CHECK_FALSE(has(line(), "effort"));
}

TEST_CASE("a plan that uses none of a kind, or of a group of nodes, says to leave them out",
          "[planners]") {
  Said said;
  CHECK(has(summary_text(said.plan, said.cluster),
            "leave out the 4 t: no plan that was found is faster with them\n"));
  said.plan.search_candidates = 0;  // a plan that was given
  CHECK(has(summary_text(said.plan, said.cluster), "the plan leaves out the 4 t\n"));
  said.plan.search_candidates = 5;
  said.cluster.groups[1].device_kind = said.cluster.groups[0].device_kind;
  said.cluster.finish("made");
  CHECK(has(summary_text(said.plan, said.cluster), "leave out the node node: "));
  said.plan.stages[1].devices[1] = {DeviceId(7)};
  CHECK_FALSE(has(summary_text(said.plan, said.cluster), "leave out"));
}

TEST_CASE("one sentence says that devices share cores", "[planners]") {
  const Profile profile = layers(4);
  Cluster cluster = nodes_of(1, 4);
  cluster.groups[0].cores = 2;
  cluster.groups[0].hosts = {"alpha"};
  cluster.finish("made");
  const Plan plan = *search_plan("auto", {profile, cluster, 8}, {}, "x").plan;
  CHECK(has(describe_plan(plan, cluster),
            "4 devices share 2 cores of node alpha: each computes 50 % of the time at most\n"));
  CHECK(has(describe_plan(plan, cluster), "(ideal: one core per device)"));
}

TEST_CASE("devices that the plan leaves out share no cores", "[planners]") {
  Cluster cluster = nodes_of(2, 4);
  for (NodeGroup& group : cluster.groups) group.cores = 2;
  cluster.finish("made");
  const auto with_devices = [](const std::vector<int>& devices) {
    Plan plan = uniform_plan({{0, 4}}, static_cast<int>(devices.size()), 1, 60, 60, "1f1b");
    for (std::size_t j = 0; j < devices.size(); ++j)
      plan.stages[0].devices[j] = {DeviceId(devices[j])};
    return plan;
  };
  CHECK_FALSE(has(describe_plan(with_devices({0, 1, 4, 6}), cluster), "share"));
  CHECK(has(describe_plan(with_devices({0, 1, 2, 4, 5, 6}), cluster),
            "3 devices share 2 cores of each node node: each computes 67 % of the time at most\n"));
  CHECK(
      has(describe_plan(with_devices({0, 1, 2, 4}), cluster),
          "up to 3 devices share 2 cores of each node node: each computes 67 % of the time at most "
          "there\n"));
}

TEST_CASE("one sentence says that nodes share cores", "[planners]") {
  const Profile profile = layers(4);
  Cluster cluster = nodes_of(1, 1);
  cluster.groups.push_back(cluster.groups[0]);
  for (NodeGroup& group : cluster.groups) {
    group.cores = 1;
    group.core_pool = "pool 0";
  }
  cluster.finish("made");
  const Plan plan = *search_plan("auto", {profile, cluster, 8}, {}, "x").plan;
  const std::string text = describe_plan(plan, cluster);
  const std::string sentence = "2 devices share 1 core of the nodes of pool 0";
  CHECK(has(text, sentence));
  CHECK(text.find(sentence) == text.rfind(sentence));
}

}  // namespace
}  // namespace pptrain
