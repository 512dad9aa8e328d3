// Batch norms on grids: the recorded runs of a residual network, whose statistics are of
// micro-batches of 8 and of 4.
#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>

#include "reference.hpp"
#include "shaped_plans.hpp"
#include "support/catch.hpp"
#include "support/files.hpp"

using namespace pptrain;
using namespace pptrain::test;

namespace {

/// What a run leaves in its buffers, by name: the norm of what all ranks that have one hold, which
/// is the same.
using Norms = std::map<std::string, double>;

struct Run {
  std::vector<double> losses;
  Norms buffers;
};

/// Sum of the squares of what this rank holds of a buffer; nothing where it does not.
std::optional<double> own_squares_of(Session& session, const std::string& name) {
  if (session.device() == nullptr) return {};
  for (const auto& part : session.device()->parts()) {
    const BufferStore& buffers = part->parameters().buffers();
    for (std::size_t b = 0; b < buffers.specs().size(); ++b) {
      if (buffers.specs()[b].name != name) continue;
      double squares = 0.0;
      for (std::int64_t i = 0; i < buffers.specs()[b].size(); ++i)
        squares += std::pow(buffers.values(b)[i], 2);
      return squares;
    }
  }
  return {};
}

Run train(const Reference& reference, const Plan& plan, const SessionOptions& options = {}) {
  const Model model = build_model(reference.config.model, reference.config.training, "test");
  Session session(MPI_COMM_WORLD, reference.config, model, plan, RankMap::identity(world_size()),
                  options);
  session.arena().poison(true);
  reference.fill(session);
  Run run;
  for (std::size_t step = 0; step < reference.losses.size(); ++step) {
    const auto at = static_cast<std::int64_t>(step);
    run.losses.push_back(session.train(at, reference.samples(at)).loss);
  }
  for (const ParameterSpec& spec : stored_tensors(model)) {
    if (!spec.buffer) continue;
    const std::optional<double> own = own_squares_of(session, spec.name);
    double sums[2] = {own.value_or(0.0), own ? 1.0 : 0.0};  // all holders', their number
    session.groups().all().all_reduce_sum(sums, 2);
    run.buffers[spec.name] = std::sqrt(sums[0] / sums[1]);
  }
  return run;
}

void check_run(const Reference& reference, const std::string& file, const Plan& plan,
               const SessionOptions& options = {}) {
  const Run run = train(reference, plan, options);
  CHECK(largest_difference(run.losses, reference.losses) <= reference.loss_tolerance);
  const nlohmann::json expected =
      nlohmann::json::parse(std::ifstream(test_data("models/resnet/" + file)))
          .at("final_param_norm_per_tensor");
  std::size_t averages = 0;
  for (const auto& [name, norm] : run.buffers) {
    INFO(name);
    if (name.ends_with(".num_batches_tracked")) {
      CHECK(norm == static_cast<double>(plan.micro_batches) * 20.0);
    } else {
      ++averages;
      CHECK(norm == Approx(expected.at(name).get<double>()).epsilon(2e-5));
    }
  }
  CHECK(averages == 24);
}

Plan with(Plan plan, int zero_stage, Recompute recompute) {
  for (Stage& stage : plan.stages) {
    stage.zero_stage = zero_stage;
    stage.recompute = recompute;
  }
  return plan;
}

const std::vector<std::pair<std::string, std::string>> runs = {
    {"", "expected.json"}, {"sgd-micro4", "expected-sgd-micro4.json"}};

/// Every grid of all ranks with its ZeRO stages, and recomputation.
void check_grids() {
  for (const auto& [name, file] : runs) {
    const Reference reference("resnet", name);
    const int ranks = world_size();
    for (int pipeline = 1; pipeline <= std::min(ranks, 5); pipeline *= 2) {
      for (int data = 1; pipeline * data <= ranks && data <= reference.micro_batch_size;
           data *= 2) {
        const Plan plan = reference.plan(pipeline, data, ranks / pipeline / data, 0, "1f1b");
        INFO(file << ": pipeline " << pipeline << ", data " << data << " of " << ranks);
        check_run(reference, file, plan);
        check_run(reference, file, with(plan, 0, Recompute::full));
        for (int zero = 1; data > 1 && zero <= 3; ++zero)
          check_run(reference, file, with(plan, zero, Recompute::none));
      }
    }
  }
}

}  // namespace

TEST_CASE("batch norms train as transformers does", "[np1]") { check_grids(); }
TEST_CASE("batch norms train as transformers does on two ranks", "[np2]") { check_grids(); }
TEST_CASE("batch norms train as transformers does on four ranks", "[np4]") { check_grids(); }
TEST_CASE("batch norms train as transformers does on eight ranks", "[np8]") { check_grids(); }

TEST_CASE("batch norms train under every schedule", "[np4]") {
  const Reference reference("resnet", "sgd-micro4");
  for (const Kind& kind : kinds) {
    for (const int chunks : kind.chunks) {
      if (2 * chunks > 5) continue;
      INFO(kind.schedule << " with " << chunks << " chunks");
      check_run(reference, "expected-sgd-micro4.json",
                reference.plan(2, 2, 1, 0, kind.schedule, chunks));
    }
  }
}

TEST_CASE("batch norms train by plans that are drawn", "[np8]") {
  const Reference reference("resnet", "sgd-micro4");
  const Model model = build_model(reference.config.model, reference.config.training, "test");
  RandomShapes shapes(31, DrawnBlocks::some,
                      {model.num_layers(), 8, axes_of(model), reference.micro_batch_size});
  for (int i = 0; i < 6; ++i) {
    const Plan plan = shapes.plan(world_size());
    INFO("plan " << i << ": " << plan.shape());
    check_run(reference, "expected-sgd-micro4.json", plan, shapes.machine(plan, world_size()));
  }
}

TEST_CASE("two runs with batch norms over uneven replicas agree bit for bit", "[np4]") {
  const Reference reference("resnet");
  const Plan plan = shaped_plan({{{5}, {3, 1, 2, 2}, 1, {}, 2}}, 8);
  const Run once = train(reference, plan), again = train(reference, plan);
  CHECK(once.losses == again.losses);
  CHECK(once.buffers == again.buffers);
}

TEST_CASE("an evaluation goes by the running averages, whatever the division", "[np4]") {
  const Reference reference("resnet");
  const Model model = build_model(reference.config.model, reference.config.training, "test");
  std::vector<double> losses;
  for (const Plan& plan :
       {reference.plan(1, 4, 1, 0, "1f1b"), reference.plan(2, 2, 1, 0, "1f1b")}) {
    Session session(MPI_COMM_WORLD, reference.config, model, plan, RankMap::identity(4));
    reference.fill(session);
    const double before = session.evaluate(reference.samples(0));
    CHECK(session.evaluate(reference.samples(0)) == before);
    session.train(0, reference.samples(0));
    losses.insert(losses.end(), {before, session.evaluate(reference.samples(0))});
  }
  CHECK(losses[2] == Approx(losses[0]).epsilon(1e-6));
  CHECK(losses[3] == Approx(losses[1]).epsilon(1e-6));
  CHECK(losses[0] != Approx(reference.losses[0]).epsilon(1e-3));
  CHECK(losses[1] != Approx(losses[0]).epsilon(1e-3));
}
