// Stages of different shape, uneven replicas, shards and layers: the recorded losses and gradient
// norms, and every parameter where it belongs.
#include <map>

#include "reference.hpp"
#include "runtime/execute/session.hpp"
#include "shaped_plans.hpp"
#include "support/catch.hpp"

using namespace pptrain;
using namespace pptrain::test;

namespace {

const std::vector<std::string> runs = {"untied", "tied", "untied_sgd", "untied_sched"};

/// Elements of the model that this rank updates and counts in sums over the model.
std::int64_t num_counted(Session& session) {
  if (session.device() == nullptr) return 0;
  std::int64_t count = 0;
  for (const auto& part : session.device()->parts()) {
    const ParameterStore& store = part->parameters();
    for (const OwnPart& own : store.own_parts()) {
      count += part->counted(own).size();
    }
  }
  return count;
}

/// For each element of the parameters, laid side by side in the order of their names: how many
/// (part, replica) pairs it has a place on, a whole parameter counted on the first shard only.
std::vector<double> holders(const Reference& reference, Session& session) {
  std::map<std::string, std::size_t> offsets;
  std::size_t size = 0;
  for (const auto& [name, values] : reference.weights) {
    offsets[name] = size;
    size += values.size();
  }
  std::vector<double> result(size, 0.0);
  if (session.device() != nullptr) {
    for (const auto& part : session.device()->parts()) {
      for (const LocalParameter& parameter : part->parameters().parameters()) {
        if (parameter.spec.axis == ShardAxis::none && part->role().shard != 0) continue;
        for (const Interval& run : parameter.elements) {
          for (std::int64_t i = run.begin; i < run.end; ++i)
            result[offsets.at(parameter.spec.name) + i] += 1.0;
        }
      }
    }
  }
  session.groups().all().all_reduce_sum(result.data(), result.size());
  return result;
}

/// How many replicas hold each element, as the plan says it: those of the parts that hold the
/// parameter's layers.
std::vector<double> expected_holders(const Reference& reference, const Model& model,
                                     const Plan& plan) {
  std::map<std::string, std::map<std::pair<int, int>, int>> parts;  // replicas by stage and part
  for (int s = 0; s < plan.num_stages(); ++s) {
    const StageParts of_stage(plan.stages[s]);
    for (std::size_t p = 0; p < of_stage.all().size(); ++p) {
      const StagePart& part = of_stage.all()[p];
      for (const Interval& run : part.layers) {
        for (std::int64_t l = run.begin; l < run.end; ++l) {
          for (const ParameterSpec& spec : model.layers[l].parameters) {
            parts[spec.name][{s, static_cast<int>(p)}] = part.mesh->replicas;
          }
        }
      }
    }
  }
  std::vector<double> result;
  for (const auto& [name, values] : reference.weights) {
    double replicas = 0.0;
    for (const auto& [part, of_part] : parts.at(name)) replicas += of_part;
    result.insert(result.end(), values.size(), replicas);
  }
  return result;
}

/// Every element once per replica, all of the model counted once, and the loss that evaluation
/// gives.
void check_holdings(const Reference& reference, const Plan& plan) {
  const Model model = build_model(reference.config.model, reference.config.training, "test");
  Session session(MPI_COMM_WORLD, reference.config, model, plan, RankMap::identity(world_size()));
  CHECK(holders(reference, session) == expected_holders(reference, model, plan));
  double count = static_cast<double>(num_counted(session));
  session.groups().all().all_reduce_sum(&count, 1);
  CHECK(count == static_cast<double>(model.num_parameters()));
  if (model.shared_parameters().empty()) CHECK(count == 235008.0);
  reference.fill(session);
  CHECK(session.evaluate(reference.samples(0)) == Approx(reference.losses[0]).margin(5e-6));
}

void check_plan(const Reference& reference, const Plan& plan, const SessionOptions& options = {}) {
  INFO(write_plan(plan) << describe(options));
  validate_plan(plan, static_cast<int>(reference.config.model.layers) + 2, world_size(),
                "made by the test");
  check_holdings(reference, plan);
  const Curve curve = train_reference(MPI_COMM_WORLD, reference, plan,
                                      static_cast<int>(reference.config.training.steps), options);
  check_curve(curve, reference);
}

void check(const std::string& run, const std::vector<ShapedStage>& stages,
           const std::string& schedule = "1f1b") {
  INFO(run);
  check_plan(Reference(run), shaped_plan(stages, 8, schedule));
}

const std::map<std::string, std::vector<std::int64_t>> uneven_pair = {
    {"heads", {3, 1}}, {"columns", {160, 96}}, {"vocabulary", {200, 57}}};

/// `number` plans, each on a machine that is drawn, with one of the recorded runs.
void check_random(std::uint64_t seed, int number) {
  RandomShapes shapes(seed);
  for (int i = 0; i < number; ++i) {
    const Plan plan = shapes.plan(world_size());
    const std::string& run = runs[shapes.pick(0, 3)];
    INFO("plan " << i << " of seed " << seed << ", " << run);
    check_plan(Reference(run), plan, shapes.machine(plan, world_size()));
  }
}

}  // namespace

TEST_CASE("uneven shares of the samples meet the reference runs", "[np4]") {
  check("untied", {{{6}, {5, 3}}});
  check("tied", {{{6}, {4, 2, 1, 1}}});
  check("tied", {{{6}, {1, 2, 1}, 1, {}, 3}}, "gpipe");
}

TEST_CASE("uneven shards meet the reference runs", "[np4]") {
  check("untied", {{{6}, {8}, 2, uneven_pair}});
  check("tied",
        {{{6},
          {2},
          3,
          {{"heads", {2, 1, 1}}, {"columns", {1, 155, 100}}, {"vocabulary", {7, 120, 130}}}}});
  check("untied_sched", {{{6}, {3, 1}, 2, uneven_pair, 2}});
}

TEST_CASE("stages of different shape meet the reference runs", "[np4]") {
  check("untied", {{{5}, {2, 2}}, {{1}, {4}}});             // 2 -> 1 replicas
  check("tied", {{{4}, {4}}, {{2}, {3, 1}, 1, {}, 1}});     // 1 -> 2, layers 4 + 2
  check("tied", {{{4}, {8}, 2, uneven_pair}, {{2}, {8}}});  // degree 2 -> 1 across a boundary
  check("tied", {{{1}, {4}}, {{5}, {4}, 3}});               // degree 1 -> 3
  check("untied_sgd", {{{2, 1}, {2, 1, 1}}, {{1, 2}, {4}}}, "zb-v");            // chunks
  check("tied", {{{1, 2}, {2}, 2, uneven_pair, 3}, {{2, 1}, {1, 1}}}, "zb-v");  // both copies on
                                                                                // stage 0
}

TEST_CASE("pipelines of several shapes at once meet the reference runs", "[np8]") {
  check("tied", {{{3}, {5, 3}}, {{1}, {2, 4, 2}}, {{2}, {8}, 2, uneven_pair}});  // 2 -> 3 -> 1
  check("tied", {{{2}, {2}, 2, uneven_pair, 2}, {{3}, {1, 1}, 2}, {{1}, {1, 1}, 1, {}, 3}},
        "zb-h1");  // 2x2
}

TEST_CASE("plans that are drawn meet the reference runs", "[np4]") { check_random(1, 4); }

TEST_CASE("plans that are drawn for eight ranks meet the reference runs", "[np8]") {
  check_random(23, 6);
}

TEST_CASE("twenty plans that are drawn meet the reference runs", "[np8][long]") {
  check_random(3, 20);
}

TEST_CASE("twenty plans that are drawn for sixteen ranks meet the reference runs", "[np16][long]") {
  check_random(4, 20);
}
