#include "planners/objective.hpp"

#include "planners/priced_nodes.hpp"
#include "support/catch.hpp"
#include "support/complaint.hpp"

namespace pptrain {
namespace {

struct Asked {
  Objective objective;
  CostQuestion question;
  double price_of_v = 10.0;
  double price_of_t = 1.0;
};

SearchResult search(const Asked& asked) {
  const Profile profile = profile_of_two_kinds();
  const Cluster cluster = priced(asked.price_of_v, asked.price_of_t);
  const Instance instance = {profile, cluster, 8};
  return search_by_objective({"auto", instance, {}, "test"}, asked.objective, asked.question);
}

Objective objective(ObjectiveKind kind) {
  Objective asked;
  asked.kind = kind;
  asked.max_cost_place = "max_cost";
  asked.min_tokens_place = "min_tokens_per_second";
  return asked;
}

/// Whether devices 0, "v", and 1, "t", are used.
std::vector<bool> devices_used(const SearchResult& result) {
  return used_nodes(priced(1, 1), *result.plan);
}

TEST_CASE("the objective decides which nodes pay", "[planners][objective]") {
  const CostQuestion question = {10.0, {}, {}, {}};
  // On "v" alone a step takes 96 s, on "t" alone 192 s, on both about 64 s.
  CHECK(devices_used(search({objective(ObjectiveKind::time), question})) ==
        std::vector<bool>{true, true});
  const SearchResult cheap = search({objective(ObjectiveKind::cost), question});
  CHECK(devices_used(cheap) == std::vector<bool>{false, true});
  CHECK(cheap.plan->predicted->iteration_seconds == Approx(192.0));
  CHECK(*cheap.plan->predicted->cost->money_per_step == Approx(192.0 / 3600.0));
  CHECK(cheap.plan->predicted->peak_bytes.size() == 2);
  CHECK(cheap.plan->predicted->peak_bytes[0] == 0.0);
  CHECK(cheap.plan->predicted->lower_bound_seconds <= 64.0 * (1.0 + 1e-9));
  // With equal prices for equal work the faster device is as cheap; with dearer slow nodes it is
  // cheaper.
  CHECK(devices_used(search({objective(ObjectiveKind::cost), question, 1.0, 1.0})) ==
        std::vector<bool>{true, false});
  // 96 s at 10 and 192 s at 4: the product is least on both, where a step costs 14 for two thirds
  // of the time.
  CHECK(devices_used(search({objective(ObjectiveKind::time_cost), question, 10.0, 4.0})) ==
        std::vector<bool>{true, true});
}

TEST_CASE("time alone is the search as it was", "[planners][objective]") {
  const Profile profile = profile_of_two_kinds();
  const Cluster cluster = priced(10.0, 1.0);
  const Instance instance = {profile, cluster, 8};
  const SearchResult before = search_plan("auto", instance, {}, "test");
  const SearchResult after = search({objective(ObjectiveKind::time), {10.0, {}, {}, {}}});
  CHECK(same_plan(*before.plan, *after.plan));
  CHECK(before.plan->search_candidates == after.plan->search_candidates);
}

TEST_CASE("limits of money and speed are kept", "[planners][objective]") {
  const CostQuestion question = {10.0, {}, {}, {}};
  Asked fast = {objective(ObjectiveKind::cost), question};
  fast.objective.min_tokens_per_second = 0.5;  // "t" alone has 80 tokens in 192 s
  CHECK(devices_used(search(fast))[0]);
  // 10^9 tokens on "t" alone cost 192 / 3600 / 80 x 10^9 = 666,667.
  Asked cheap = {objective(ObjectiveKind::time), question};
  cheap.objective.max_cost = 700000.0;
  CHECK(devices_used(search(cheap)) == std::vector<bool>{false, true});
  // A training of 8 x 10^9 tokens.
  cheap.question.training_tokens = 8e9;
  cheap.objective.max_cost = 8 * 700000.0;
  CHECK(devices_used(search(cheap)) == std::vector<bool>{false, true});
}

TEST_CASE("limits that no plan keeps to are refused with the nearest plan",
          "[planners][objective]") {
  const CostQuestion question = {10.0, {}, {}, {}};
  Asked poor = {objective(ObjectiveKind::time), question};
  poor.objective.max_cost = 100.0;
  const std::string dear = complaint_of([&] { search(poor); });
  CHECK(dear.starts_with("max_cost: no plan that was found costs at most 100 USD for 10^9 tokens"));
  CHECK(dear.find("the nearest that was found has 666667 USD") != std::string::npos);
  Asked hasty = {objective(ObjectiveKind::cost), question};
  hasty.objective.min_tokens_per_second = 1e6;
  CHECK(complaint_of([&] {
          search(hasty);
        }).starts_with("min_tokens_per_second: no plan that was found has 1M tokens/s"));
}

TEST_CASE("money without prices and tokens without their number are refused",
          "[planners][objective]") {
  const Profile profile = profile_of_two_kinds();
  Cluster cluster = priced(1.0, 1.0);
  cluster.groups[1].price.reset();
  const Instance instance = {profile, cluster, 8};
  Objective cost = objective(ObjectiveKind::cost);
  cost.place = "place";
  const CostQuestion question = {10.0, {}, {}, {}};
  const std::string unpriced = complaint_of([&] {
    search_by_objective({"auto", instance, {}, "test"}, cost, question);
  });
  CHECK(unpriced.starts_with(
      "place: objective = \"cost\" without prices (an hour of node has no price)"));
  CHECK(unpriced.find("--price \"node=") != std::string::npos);
  Asked limited = {objective(ObjectiveKind::time), {}};
  limited.objective.min_tokens_per_second = 1.0;
  CHECK(complaint_of([&] { search(limited); }).find("whose tokens are not counted") !=
        std::string::npos);
}

}  // namespace
}  // namespace pptrain
