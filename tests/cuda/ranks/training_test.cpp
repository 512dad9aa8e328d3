// The whole training on GPUs against the host's and the recorded runs.
#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>

#include "comm/alarm.hpp"
#include "comm/mpi.hpp"
#include "config/read.hpp"
#include "cuda/backend.hpp"
#include "cuda/hardware.hpp"
#include "runtime/checkpoint/block_transfer.hpp"
#include "runtime/checkpoint/checkpointer.hpp"
#include "runtime/checkpoint/resume.hpp"
#include "runtime/noisy_text.hpp"
#include "runtime/reference.hpp"
#include "runtime/replan/redistribute.hpp"
#include "runtime/shaped_plans.hpp"
#include "runtime/written_networks.hpp"
#include "support/catch.hpp"

using namespace pptrain;
using namespace pptrain::test;

namespace {

/// What two ways to compute a loss in fp32 may differ by.
constexpr double tolerance = 2e-5;

int steps_on(int gpus, int stand_in) { return hardware() == Hardware::gpus ? gpus : stand_in; }

/// As many as are recorded, or a few of them.
int steps_of(const Reference& reference) {
  return steps_on(static_cast<int>(reference.losses.size()), 3);
}

/// A GPU for this rank: one of its own, with NCCL, or the one that all share.
struct Gpu {
  std::unique_ptr<GpuBackend> parts;

  explicit Gpu(Gpus gpus) : parts(make_gpu_backend(gpu_of_rank(gpus))) {}
  SessionOptions options() const {
    SessionOptions options = {.backend = parts->backend()};
    options.direct = parts->direct();
    return options;
  }
};

void check_equal(const Curve& curve, const Curve& expected) {
  CHECK(largest_difference(curve.losses, expected.losses) <= tolerance);
  CHECK(largest_difference(curve.grad_norms, expected.grad_norms) <=
        tolerance * expected.grad_norms.front());
}

/// On a GPU as on the host, and as recorded. `machine`: nodes and forms.
void check_plan(const Reference& reference, const Plan& plan, const Gpu& gpu,
                const SessionOptions& machine = {}) {
  INFO(plan.shape());
  const int steps = steps_of(reference);
  SessionOptions options = gpu.options();
  options.nodes = machine.nodes;
  options.forms = machine.forms;
  const Curve device = train_reference(MPI_COMM_WORLD, reference, plan, steps, options);
  check_equal(device, train_reference(MPI_COMM_WORLD, reference, plan, steps, machine));
  const std::vector<double> recorded(reference.losses.begin(), reference.losses.begin() + steps);
  CHECK(largest_difference(device.losses, recorded) <= tolerance);
}

/// What the groups of a plan communicate by, one line each.
std::string ways_of(const Reference& reference, const Plan& plan, const Gpu& gpu) {
  const Model model = build_model(reference.config.model, reference.config.training, "test");
  Session session(MPI_COMM_WORLD, reference.config, model, plan,
                  RankMap::identity(plan.num_devices()), gpu.options());
  std::string all;
  for (const std::string& way : session.groups().ways()) all += way + "\n";
  return all;
}

Plan with_zero(Plan plan, int zero_stage) {
  for (Stage& stage : plan.stages) stage.zero_stage = zero_stage;
  return plan;
}

/// Steps of a small model on one rank.
class SmallJob {
 public:
  SmallJob(Precision precision, const SessionOptions& options)
      : config_(small_job(precision)),
        session_(MPI_COMM_WORLD, config_, build_model(config_.model, config_.training, "test"),
                 uniform_plan({{0, 4}}, 1, 1, 8, 8, "1f1b"), RankMap::identity(1), options) {
    session_.arena().poison(true);
    fill_random(session_.device()->parameters(), 1);
  }
  IterationResult train(int step, int text) {
    return session_.train(step, noisy_text(config_, text));
  }
  LossScale& loss_scale() { return session_.loss_scale(); }

 private:
  Config config_;
  Session session_;
};

}  // namespace

TEST_CASE("one rank trains on a GPU as on the host", "[np1]") {
  const Gpu gpu(Gpus::own);
  for (const char* run : {"untied", "tied", "untied_sgd", "untied_sched"}) {
    INFO(run);
    const Reference reference(run);
    check_plan(reference, reference.plan(1, 1, 1, 4, "1f1b"), gpu);
  }
}

namespace {

/// One folder of tests/data/models for each family.
const std::vector<std::string> one_of_each_family = {
    "llama",   "mistral", "qwen2",     "qwen3",     "gemma",    "gemma2", "gemma3-text", "smollm3",
    "granite", "olmo2",   "phi3",      "gpt2-hf",   "gpt-neox", "opt",    "bert",        "vit",
    "t5",      "mixtral", "qwen2-moe", "qwen3-moe", "resnet",   "vgg"};

}  // namespace

TEST_CASE("published models train on a GPU as on the host", "[np1]") {
  const Gpu gpu(Gpus::own);
  for (const std::string& folder : all_published()) {
    INFO(folder);
    const Reference reference(folder);
    check_plan(reference, reference.plan(1, 1, 1, 4, "1f1b"), gpu);
  }
}

TEST_CASE("optimizers with a kernel train on a GPU as on the host", "[np1]") {
  const Gpu gpu(Gpus::own);
  for (const char* run : {"sgd", "sgd-nesterov", "lion"}) {
    INFO(run);
    const Reference reference("llama", run);
    check_plan(reference, reference.plan(1, 1, 1, 4, "1f1b"), gpu);
  }
}

TEST_CASE("optimizers with a kernel train on grids of GPUs as on the host", "[np4]") {
  const Gpu gpu(Gpus::own);
  for (const char* run : {"sgd", "lion"}) {
    INFO(run);
    const Reference reference("llama", run);
    check_plan(reference, with_zero(reference.plan(1, 2, 2, 4, "1f1b"), 3), gpu);
  }
}

TEST_CASE("published models train in 16 bits on a GPU nearly as in fp32", "[np1]") {
  const Gpu gpu(Gpus::own);
  for (const std::string& folder : one_of_each_family) {
    for (const auto& [precision, rounding] : {std::pair{Precision::bf16, std::ldexp(1.0, -8)},
                                              {Precision::fp16, std::ldexp(1.0, -11)}}) {
      INFO(folder << ", " << to_string(precision));
      Reference reference(folder);
      reference.config.training.precision = precision;
      const Plan plan = reference.plan(1, 1, 1, 4, "1f1b");
      // As in precision_test.cpp: roundings of a mean over few targets cancel less.
      const Model model = build_model(reference.config.model, reference.config.training, "test");
      const auto targets =
          static_cast<double>(reference.config.training.global_batch_size * model.sample.rows);
      const double spread = std::max(1.0, std::sqrt(128.0 / targets));
      const Curve curve =
          train_reference(MPI_COMM_WORLD, reference, plan, steps_on(8, 2), gpu.options());
      for (std::size_t step = 0; step < curve.losses.size(); ++step) {
        CHECK(curve.losses[step] == Approx(reference.losses[step]).epsilon(rounding * spread));
      }
    }
  }
}

TEST_CASE("published models train on grids of GPUs as on the host", "[np4]") {
  const Gpu gpu(Gpus::own);
  for (std::size_t f = 0; f < one_of_each_family.size(); ++f) {
    INFO(one_of_each_family[f]);
    const Reference reference(one_of_each_family[f]);
    const Model model = build_model(reference.config.model, reference.config.training, "test");
    const std::int64_t heads = model.axis_size(ShardAxis::heads);
    std::vector<Plan> plans = {with_zero(reference.plan(2, 2, 1, 4, "1f1b"), 3)};
    if (heads >= 2) plans.push_back(reference.plan(2, 1, 2, 2, "zb-h1"));
    if (heads >= 4) plans.push_back(reference.plan(1, 1, 4, 4, "gpipe"));
    // The stand-in is slow, so there the families take turns.
    if (hardware() != Hardware::gpus) plans = {plans[f % plans.size()]};
    for (const Plan& plan : plans) check_plan(reference, plan, gpu);
  }
}

TEST_CASE("bf16 and fp16 train on a GPU as fp32 does on the host", "[np1]") {
  const Gpu gpu(Gpus::own);
  const int steps = steps_on(200, 4);
  SmallJob host(Precision::fp32, {}), bf16(Precision::bf16, gpu.options()),
      fp16(Precision::fp16, gpu.options());
  for (int step = 0; step < steps; ++step) {
    CAPTURE(step);
    const double expected = host.train(step, step).loss;
    REQUIRE(bf16.train(step, step).loss == Approx(expected).epsilon(0.01));
    REQUIRE(fp16.train(step, step).loss == Approx(expected).epsilon(0.01));
  }
  CHECK(fp16.loss_scale().state().skipped_steps == 0);
}

TEST_CASE("on a GPU, gradients that overflow fp16 leave no trace but a smaller loss scale",
          "[np1]") {
  const Gpu gpu(Gpus::own);
  SmallJob host(Precision::fp32, {}), fp16(Precision::fp16, gpu.options());
  constexpr double too_large = 1 << 26;
  fp16.loss_scale().restore({too_large, 0, 0});
  int skipped = 0;
  IterationResult result = fp16.train(0, 0);
  while (result.skipped && skipped < 20) result = fp16.train(++skipped, 0);
  CHECK_FALSE(result.skipped);
  CHECK(skipped > 0);
  CHECK(fp16.loss_scale().value() == std::ldexp(too_large, -skipped));
  for (int step = 0; step < 3; ++step) {
    if (step > 0) result = fp16.train(skipped + step, step);
    CHECK(result.loss == Approx(host.train(step, step).loss).epsilon(0.01));
  }
}

TEST_CASE("ranks that share a GPU train as one rank does", "[np8]") {
  const Reference reference("tied");
  const Gpu gpu(Gpus::shared);
  const int steps = steps_of(reference);
  const Plan plan = reference.plan(2, 2, 2, 2, "1f1b");
  CHECK_THAT(ways_of(reference, plan, gpu), Catch::Contains("share a device"));
  const Curve together = train_reference(MPI_COMM_WORLD, reference, plan, steps, gpu.options());
  if (rank_in(MPI_COMM_WORLD) == 0) {
    check_equal(together,
                train_reference(MPI_COMM_SELF, reference, reference.plan(1, 1, 1, 4, "1f1b"), steps,
                                gpu.options()));
  }
  MPI_Barrier(MPI_COMM_WORLD);
}

TEST_CASE("NCCL is refused to ranks that share a GPU, with the reason and what else there is",
          "[np2]") {
  Reference reference("tied");
  const Gpu gpu(Gpus::shared);
  const Plan plan = reference.plan(1, 2, 1, 4, "1f1b");
  reference.config.job.gpu_transport = GpuTransport::nccl;
  CHECK_THROWS_WITH(ways_of(reference, plan, gpu),
                    Catch::Contains("ranks 0 and 1 share a device, which NCCL refuses") &&
                        Catch::Contains("gpu_transport") && Catch::Contains("\"mpi\""));
}

namespace {

/// Plans of as many ranks as there are.
std::vector<Plan> plans_of_world(const Reference& reference) {
  const int ranks = size_of(MPI_COMM_WORLD);
  if (ranks == 2) return {reference.plan(1, 2, 1, 4, "1f1b"), reference.plan(1, 1, 2, 4, "1f1b")};
  if (ranks == 8) return {reference.plan(2, 2, 2, 2, "1f1b")};
  return {reference.plan(1, 4, 1, 4, "1f1b"), reference.plan(1, 2, 2, 2, "1f1b"),
          reference.plan(2, 2, 1, 2, "zb-h1")};
}

}  // namespace

TEST_CASE("ranks with a GPU each train by NCCL as on the host", "[np2][np4][np8][own]") {
  Reference reference("tied");
  const Gpu gpu(Gpus::own);
  for (const Plan& plan : plans_of_world(reference)) {
    CHECK_THAT(ways_of(reference, plan, gpu), Catch::Contains(": NCCL"));
    check_plan(reference, plan, gpu);
  }
  reference.config.job.gpu_transport = GpuTransport::mpi;
  CHECK_THAT(ways_of(reference, plans_of_world(reference).front(), gpu),
             !Catch::Contains(": NCCL"));
}

namespace {

/// Networks that are written down: experts that take no more than their share, members' channels of
/// different widths, and what draws images.
void check_written(const std::vector<std::array<int, 3>>& grids) {
  const Gpu gpu(Gpus::own);
  for (const ModelConfig& network : {own_network(full_experts), own_network(shared_experts),
                                     parse_config(wide_blocks, "wide.toml", "").model,
                                     parse_config(drawing, "drawing.toml", "").model}) {
    const Drawn drawn(network);
    INFO(drawn.model.layers[1].name);
    for (const auto& [pipeline, data, tensor] : grids) {
      check_plan(drawn.reference, drawn.reference.plan(pipeline, data, tensor, 4, "1f1b"), gpu);
    }
  }
}

}  // namespace

TEST_CASE("networks that are written down train on a GPU as on the host", "[np1]") {
  check_written({{1, 1, 1}});
}
TEST_CASE("networks that are written down train on grids of GPUs as on the host", "[np4]") {
  check_written({{2, 1, 2}, {1, 2, 2}});
}

namespace {

/// Whole experts on the members of grids, and rows that are sent to them, with the loss of their
/// balance too.
void check_experts(Gpus gpus) {
  const Gpu gpu(gpus);
  const Reference mixtral("mixtral"), balanced("mixtral", "aux-per-layer-micro2"),
      shared("qwen2-moe");
  const auto sent = [](const Reference& reference, const Plan& plan,
                       const std::vector<std::int64_t>& numbers) {
    return with_sent_rows(
        plan, build_model(reference.config.model, reference.config.training, "test"), numbers);
  };
  check_plan(mixtral, with_zero(with_experts(mixtral.plan(1, 2, 2, 2, "1f1b"), {1, 3}), 2), gpu);
  check_plan(shared, with_experts(shared.plan(1, 1, 4, 4, "zb-h1"), {1, 4, 2, 1}), gpu);
  check_plan(shared, with_zero(sent(shared, shared.plan(1, 4, 1, 4, "1f1b"), {1, 4, 2, 1}), 3),
             gpu);
  const Plan two_stages = sent(balanced, balanced.plan(2, 2, 1, 2, "1f1b"), {1, 3});
  if (gpus == Gpus::own) CHECK_THAT(ways_of(balanced, two_stages, gpu), Catch::Contains(": NCCL"));
  check_plan(balanced, two_stages, gpu);
}

}  // namespace

TEST_CASE("experts are divided over GPUs as on the host, and rows sent to them, by NCCL",
          "[np4][own]") {
  check_experts(Gpus::own);
}
TEST_CASE("experts are divided on a GPU as on the host, and rows sent to them, by MPI", "[np4]") {
  check_experts(Gpus::shared);
}

namespace {

void check_zero(Gpus gpus) {
  const Reference reference("untied");
  const Gpu gpu(gpus);
  for (const int stage : {1, 2, 3})
    check_plan(reference, with_zero(reference.plan(1, 4, 1, 4, "1f1b"), stage), gpu);
}

}  // namespace

TEST_CASE("ZeRO's stages train on GPUs as on the host, by NCCL", "[np4][own]") {
  check_zero(Gpus::own);
}
TEST_CASE("ZeRO's stages train on a GPU as on the host, by MPI", "[np4]") {
  check_zero(Gpus::shared);
}

namespace {

/// Plans that are drawn, each on a machine that is drawn, with one of two recorded runs.
void check_drawn(Gpus gpus, std::uint64_t seed, int number) {
  const Gpu gpu(gpus);
  const int ranks = size_of(MPI_COMM_WORLD);
  RandomShapes shapes(seed);
  for (int i = 0; i < number; ++i) {
    const Plan plan = shapes.plan(ranks);
    const SessionOptions machine = shapes.machine(plan, ranks);
    const Reference reference(shapes.pick(0, 1) > 0 ? "tied" : "untied");
    INFO("plan " << i << " of seed " << seed << "\n" << write_plan(plan) << describe(machine));
    check_plan(reference, plan, gpu, machine);
  }
}

}  // namespace

TEST_CASE("plans that are drawn train on GPUs as on the host, by NCCL", "[np4][own]") {
  check_drawn(Gpus::own, 1, 4);
}
TEST_CASE("plans that are drawn train on a GPU as on the host, by MPI", "[np4]") {
  check_drawn(Gpus::shared, 2, 4);
}
TEST_CASE("plans that are drawn for eight ranks train on a GPU as on the host", "[np8]") {
  check_drawn(Gpus::shared, 3, 2);
}
TEST_CASE("plans that are drawn for eight ranks train on GPUs as on the host", "[np8][own]") {
  check_drawn(Gpus::own, 4, 2);
}

namespace {

/// A folder that all ranks share; rank 0 makes and removes it.
class SharedFolder {
 public:
  SharedFolder() {
    char name[64] = "/tmp/pptrain-gpu-XXXXXX";
    if (rank_in(MPI_COMM_WORLD) == 0) REQUIRE(mkdtemp(name) != nullptr);
    MPI_Bcast(name, sizeof(name), MPI_CHAR, 0, MPI_COMM_WORLD);
    path_ = name;
  }
  ~SharedFolder() {
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank_in(MPI_COMM_WORLD) == 0) std::filesystem::remove_all(path_);
  }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

/// A checkpoint's file, with the datasets in the model's order.
Resumed resumed_from(const std::string& path, const Model& model,
                     const OptimizerConfig& optimizer) {
  Resumed from;
  from.path = path;
  from.datasets = datasets_of(model, optimizer);
  const CheckpointHead head = read_checkpoint_head(path);
  for (CheckpointDataset& dataset : from.datasets) {
    for (const CheckpointDataset& there : head.datasets) {
      if (there.path == dataset.path) dataset = there;
    }
  }
  return from;
}

}  // namespace

TEST_CASE("state goes from GPUs to a checkpoint and to other plans, on GPUs and on the host",
          "[np4][own]") {
  const Reference reference("tied");
  const Model model = build_model(reference.config.model, reference.config.training, "test");
  const std::vector<int> nodes = {0, 0, 1, 1};
  const Gpu gpu(Gpus::own);
  const auto session = [&](const Plan& plan, const SessionOptions& options) {
    return std::make_unique<Session>(MPI_COMM_WORLD, reference.config, model, plan,
                                     RankMap::identity(4), options);
  };
  const Plan divided = with_zero(reference.plan(1, 2, 2, 2, "1f1b"), 2);
  const Plan pipeline = reference.plan(4, 1, 1, 1, "1f1b");
  const auto trained = session(divided, gpu.options());
  reference.fill(*trained);
  for (int step = 0; step < 2; ++step) trained->train(step, reference.samples(step));
  SharedFolder folder;
  Alarm alarm(MPI_COMM_WORLD);
  Checkpointer checkpointer(
      {MPI_COMM_WORLD, reference.config, model, nodes, folder.path(), CoreUse::shared}, alarm);
  CheckpointState state;
  state.step = 2;
  const std::string path = checkpointer.save(state, *trained).path;
  Waiter waiter(600.0, CoreUse::shared);
  const double expected = Reference("tied").losses[2];
  for (const SessionOptions& options : {SessionOptions(), gpu.options()}) {
    const auto loaded = session(pipeline, options);
    load_checkpoint(MPI_COMM_WORLD, waiter, nodes, model,
                    resumed_from(path, model, reference.config.optimizer), *loaded);
    CHECK(std::abs(loaded->train(2, reference.samples(2)).loss - expected) <= tolerance);
    const auto moved = session(pipeline, options);
    redistribute(MPI_COMM_WORLD, waiter, model, nodes, *trained, *moved);
    CHECK(std::abs(moved->train(2, reference.samples(2)).loss - expected) <= tolerance);
  }
}
