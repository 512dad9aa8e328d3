// Parameters that many layers share: blocks that all read the first one's product, its bias and its
// norm, beside the tied embedding. Their gradients are sums over the layers, wherever these lie.
#include <numeric>

#include "reference.hpp"
#include "runtime/execute/session.hpp"
#include "shaped_plans.hpp"
#include "support/catch.hpp"

using namespace pptrain;
using namespace pptrain::test;

namespace {

/// Parameters that all blocks share: a product divided by columns with its bias, and a norm that
/// every member of a group has whole.
const std::vector<std::string> shared_parts = {"mlp.c_fc.weight", "mlp.c_fc.bias", "ln_1.weight"};

std::string of_block(int block, const std::string& part) {
  return "h." + std::to_string(block) + "." + part;
}

Model plain_model(const Reference& reference) {
  return build_model(reference.config.model, reference.config.training, "test");
}

Model model_with_shared_blocks(const Reference& reference) {
  Model model = plain_model(reference);
  for (std::size_t l = 1; l + 1 < model.layers.size(); ++l) {
    for (ParameterSpec& spec : model.layers[l].parameters) {
      for (const std::string& part : shared_parts) {
        if (spec.name == of_block(static_cast<int>(l) - 1, part)) spec.name = of_block(0, part);
      }
    }
  }
  return model;
}

void check_same(const Curve& curve, const Curve& expected) {
  CHECK(largest_difference(curve.losses, expected.losses) <= 5e-6);
  for (std::size_t i = 0; i < curve.grad_norms.size(); ++i) {
    CHECK(curve.grad_norms[i] == Approx(expected.grad_norms[i]).epsilon(1e-5));
  }
}

/// All plans give what one rank gives alone.
void check_plans(const std::vector<Plan>& plans, const std::vector<SessionOptions>& machines = {}) {
  const Reference reference("tied");
  const Model model = model_with_shared_blocks(reference);
  REQUIRE(model.shared_parameters().size() == 4);
  constexpr int steps = 4;
  const Curve alone =
      train_model(MPI_COMM_SELF, reference, model, reference.plan(1, 1, 1, 4, "1f1b"), steps);
  for (std::size_t i = 0; i < plans.size(); ++i) {
    const SessionOptions options = machines.empty() ? SessionOptions() : machines[i];
    INFO(write_plan(plans[i]) << describe(options));
    check_same(train_model(MPI_COMM_WORLD, reference, model, plans[i], steps, options), alone);
  }
}

Plan with_zero(Plan plan, int zero_stage) {
  for (Stage& stage : plan.stages) stage.zero_stage = zero_stage;
  return plan;
}

/// Several chunks and replicas, so that a device has some of the layers of a tie.
std::vector<Plan> drawn_plans(std::uint64_t seed, int number,
                              std::vector<SessionOptions>& machines) {
  RandomShapes shapes(seed);
  std::vector<Plan> plans;
  for (int i = 0; i < number; ++i) {
    plans.push_back(shapes.plan(world_size()));
    machines.push_back(shapes.machine(plans.back(), world_size()));
  }
  return plans;
}

/// Change of a parameter by one step of plain gradient descent from the weights of the first block.
std::vector<float> change_of(const Reference& reference, const Model& model,
                             const std::string& name) {
  Config config = reference.config;
  config.optimizer.kind = OptimizerKind::sgd;
  config.optimizer.learning_rate = 0.5;
  config.optimizer.weight_decay = config.optimizer.gradient_clip = 0.0;
  Session session(MPI_COMM_SELF, config, model, reference.plan(1, 1, 1, 4, "1f1b"),
                  RankMap::identity(1));
  reference.fill(session);
  const ParameterStore& store = session.device()->parameters();
  const std::size_t place = store.find(name).value();
  const std::size_t size = store.parameters()[place].size();
  const std::vector<float> before(store.weight(place), store.weight(place) + size);
  session.train(0, reference.samples(0));
  std::vector<float> change(store.weight(place), store.weight(place) + size);
  for (std::size_t i = 0; i < size; ++i) change[i] -= before[i];
  return change;
}

}  // namespace

TEST_CASE("the gradient of a shared parameter is the sum of those of its layers", "[np1]") {
  Reference reference("tied");
  const Model plain = plain_model(reference);
  const int blocks = plain.num_layers() - 2;
  for (int block = 1; block < blocks; ++block) {
    for (const std::string& part : shared_parts) {
      reference.weights[of_block(block, part)] = reference.weights[of_block(0, part)];
    }
  }
  const Model shared = model_with_shared_blocks(reference);
  for (const std::string& part : shared_parts) {
    INFO(part);
    const std::vector<float> together = change_of(reference, shared, of_block(0, part));
    std::vector<double> sum(together.size(), 0.0);
    for (int block = 0; block < blocks; ++block) {
      const std::vector<float> one = change_of(reference, plain, of_block(block, part));
      std::transform(sum.begin(), sum.end(), one.begin(), sum.begin(), std::plus<>());
    }
    double largest = 0.0;
    for (const double value : sum) largest = std::max(largest, std::abs(value));
    REQUIRE(largest > 1e-4);
    // Changes of gains are differences of numbers near 1, which fp32 rounds by 6e-8.
    const double margin = 1e-4 * largest + (blocks + 1) * 6e-8;
    for (std::size_t i = 0; i < sum.size(); ++i)
      CHECK(together[i] == Approx(sum[i]).margin(margin));
  }
}

TEST_CASE("shared blocks train alike on two ranks", "[np2]") {
  const Reference reference("tied");
  check_plans({reference.plan(2, 1, 1, 4, "1f1b"), reference.plan(1, 1, 2, 4, "1f1b"),
               reference.plan(2, 1, 1, 4, "zb-v", 2),
               reference.plan(2, 1, 1, 2, "interleaved-1f1b", 2),
               with_zero(reference.plan(1, 2, 1, 4, "1f1b"), 3)});
}

TEST_CASE("shared blocks train alike on four ranks", "[np4]") {
  const Reference reference("tied");
  std::vector<Plan> plans = {reference.plan(4, 1, 1, 2, "1f1b"),
                             reference.plan(2, 1, 2, 4, "zb-h1"),
                             reference.plan(2, 2, 1, 2, "interleaved-1f1b", 3)};
  for (const int stage : {1, 2, 3})
    plans.push_back(with_zero(reference.plan(2, 2, 1, 4, "1f1b"), stage));
  check_plans(plans);
  std::vector<SessionOptions> machines;
  plans = drawn_plans(61, 4, machines);
  check_plans(plans, machines);
}

TEST_CASE("shared blocks train alike on eight ranks", "[np8]") {
  const Reference reference("tied");
  check_plans(
      {reference.plan(3, 2, 1, 2, "1f1b"), with_zero(reference.plan(2, 2, 2, 4, "1f1b"), 2)});
  std::vector<SessionOptions> machines;
  const std::vector<Plan> plans = drawn_plans(62, 3, machines);
  check_plans(plans, machines);
}
