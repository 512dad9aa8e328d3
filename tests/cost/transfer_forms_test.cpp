#include "cost/transfer_forms.hpp"

#include "cost/instances.hpp"
#include "support/catch.hpp"

namespace pptrain {
namespace {

constexpr TransferForm whole = TransferForm::whole;
constexpr TransferForm slices = TransferForm::slices;

/// Two stages of one replica each.
Plan degrees(int first, int second) {
  Plan plan = uniform_plan({{0, 1}, {1, 2}}, 1, first, 1, 1, "1f1b");
  plan.stages[1].tensor_parallel = second;
  plan.stages[1].devices = {{}};
  for (int k = 0; k < second; ++k) plan.stages[1].devices[0].emplace_back(first + k);
  return plan;
}

TEST_CASE("messages at once share uplinks", "[cost]") {
  const Plan plan = degrees(2, 2);
  const auto seconds = [&](const Cluster& cluster, TransferForm form) {
    return passage_seconds(
        cluster, passage(sample_copies(plan.stages[0]), sample_copies(plan.stages[1]), form),
        100.0);
  };
  CHECK(seconds(nodes_of(2, 2), whole) == 3.0);   // 2 x 100 B at 100 B/s, 1 s
  CHECK(seconds(nodes_of(2, 2), slices) == 2.0);  // 2 x 50 B
  CHECK(seconds(nodes_of(1, 4), whole) == Approx(0.6));
  CHECK(seconds(nodes_of(1, 4), slices) == Approx(0.55));
}

TEST_CASE("slices are sent where they and their gather take less than whole copies", "[cost]") {
  const Profile profile = two_layers(1000.0);
  const auto forms = [&](const Cluster& cluster, int first, int second) {
    return cheapest_forms({profile, cluster, 1}, degrees(first, second)).at(0);
  };
  // Between nodes 21 s become 11 s and a gather of 1 s.
  CHECK(forms(nodes_of(2, 2), 2, 2) == CutForms{slices, slices});
  // Inside a node 1.5 s become 1 s and a gather of 1 s.
  CHECK(forms(nodes_of(1, 4), 2, 2) == CutForms{whole, whole});
  // Four quarters arrive after 0.75 s; back, the gather of four takes 2.25 s.
  CHECK(forms(nodes_of(1, 5), 4, 1) == CutForms{slices, whole});
  CHECK(forms(nodes_of(2, 1), 1, 1) == CutForms{whole, whole});
  // Where cores are shared a copy is their work, however it is divided.
  Cluster shared = nodes_of(1, 5);
  shared.groups[0].cores = 2;
  CHECK(forms(shared, 4, 1) == CutForms{whole, whole});
}

TEST_CASE("the tied gradient crosses in slices where replicas share an uplink", "[cost]") {
  const Profile profile = two_layers(0.0);
  const auto form = [&](const Cluster& cluster, const Plan& plan) {
    Instance instance = {profile, cluster, 4};
    instance.ties = {{"wte.weight", {0, 1}, "vocabulary", 100, 40.0}};
    return cheapest_forms(instance, plan).ties.at(0);
  };
  CHECK(form(nodes_of(2, 4), uniform_plan({{0, 1}, {1, 2}}, 4, 1, 4, 4, "1f1b")) == slices);
  CHECK(form(nodes_of(1, 8), uniform_plan({{0, 1}, {1, 2}}, 4, 1, 4, 4, "1f1b")) == whole);
  CHECK(form(nodes_of(2, 4), uniform_plan({{0, 2}}, 4, 1, 4, 4, "1f1b")) == whole);
  CHECK(form(nodes_of(2, 4), uniform_plan({{0, 1}, {1, 2}}, 1, 4, 4, 4, "1f1b")) == whole);
}

}  // namespace
}  // namespace pptrain
