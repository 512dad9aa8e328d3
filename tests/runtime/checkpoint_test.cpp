// Checkpoints: right values in logical shape from any plan to any other, and training that goes on
// as if nothing had been.
#include <filesystem>
#include <fstream>

#include "base/error.hpp"
#include "comm/mpi.hpp"
#include "held_values.hpp"
#include "io/checkpoint/checkpoint_folder.hpp"
#include "job_folder.hpp"
#include "reference.hpp"
#include "runtime/checkpoint/checkpointer.hpp"
#include "runtime/checkpoint/resume.hpp"
#include "shaped_plans.hpp"
#include "shared_folder.hpp"
#include "support/catch.hpp"
#include "support/complaint.hpp"

using namespace pptrain;
using namespace pptrain::test;

namespace {

constexpr int num_ranks = 4;
const std::vector<int> nodes = {0, 0, 1, 1};

/// A job on all ranks whose plan may leave some out.
struct SavedJob {
  explicit SavedJob(const Reference& r)
      : reference(r), model(build_model(r.config.model, r.config.training, "test")) {}

  std::unique_ptr<Session> session(const Plan& plan) const {
    return std::make_unique<Session>(MPI_COMM_WORLD, reference.config, model, plan,
                                     RankMap::identity(num_ranks));
  }
  std::string save(std::int64_t step, Session& session) const {
    Alarm alarm(MPI_COMM_WORLD);
    Checkpointer checkpointer(
        {MPI_COMM_WORLD, reference.config, model, nodes, folder.path(), CoreUse::shared}, alarm);
    CheckpointState state;
    state.step = step;
    return checkpointer.save(state, session).path;
  }

  const Reference& reference;
  Model model;
  SharedFolder folder;
};

Resumed resumed_from(const SavedJob& job, const std::string& path) {
  return saved_datasets(job.model, job.reference.config, path);
}

void check_file(const SavedJob& job, const std::string& path) {
  const hid_t file = H5Fopen(path.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT);
  REQUIRE(file >= 0);
  std::int64_t wrong = 0;
  for (const ParameterSpec& spec : stored_tensors(job.model)) {
    std::vector<std::string> names = {"/parameters/" + spec.name};
    if (!spec.buffer) {
      const bool is_sgd = job.reference.config.optimizer.kind == OptimizerKind::sgd;
      for (const char* state : is_sgd ? std::vector{"momentum"} : std::vector{"m", "v"}) {
        names.push_back("/optimizer/" + spec.name + "/" + state);
      }
    }
    for (int q = 0; q < static_cast<int>(names.size()); ++q) {
      const std::string& name = names[static_cast<std::size_t>(q)];
      std::vector<float> values(static_cast<std::size_t>(spec.size()));
      const hid_t dataset = H5Dopen2(file, name.c_str(), H5P_DEFAULT);
      REQUIRE(dataset >= 0);
      CHECK(H5Dread(dataset, H5T_NATIVE_FLOAT, H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data()) >= 0);
      H5Dclose(dataset);
      for (std::int64_t e = 0; e < spec.size(); ++e) {
        if (values[static_cast<std::size_t>(e)] !=
            code({std::hash<std::string>()(spec.name), q, e}))
          ++wrong;
      }
    }
  }
  H5Fclose(file);
  CHECK(wrong == 0);
}

void check_round_trip(const SavedJob& job, const Plan& a, const Plan& b) {
  INFO(write_plan(a) << write_plan(b));
  const auto from = job.session(a);
  const HeldValues before = values_of(*from);
  for (const auto& [key, place] : before.places()) *place = code(key);
  const std::string path = job.save(3, *from);
  if (world_rank() == 0) check_file(job, path);
  const auto to = job.session(b);
  Waiter waiter(600.0, CoreUse::shared);
  load_checkpoint(MPI_COMM_WORLD, waiter, nodes, job.model, resumed_from(job, path), *to);
  std::int64_t wrong = 0;
  const HeldValues after = values_of(*to);
  for (const auto& [key, place] : after.places()) {
    if (*place != code(key)) ++wrong;
  }
  CHECK(wrong == 0);
}

/// Losses of a run under plan `a` that is saved halfway and goes on from the file under plan `b`.
std::vector<double> losses_over_checkpoint(const SavedJob& job, const Plan& a, const Plan& b) {
  auto session = job.session(a);
  job.reference.fill(*session);
  std::vector<double> losses;
  const auto steps = static_cast<std::int64_t>(job.reference.losses.size());
  for (std::int64_t step = 0; step < steps; ++step) {
    if (step == steps / 2) {
      const std::string path = job.save(step, *session);
      session = job.session(b);
      Waiter waiter(600.0, CoreUse::shared);
      load_checkpoint(MPI_COMM_WORLD, waiter, nodes, job.model, resumed_from(job, path), *session);
    }
    losses.push_back(session->train(step, job.reference.samples(step)).loss);
  }
  return losses;
}

void check_training(const Reference& reference, const Plan& a, const Plan& b) {
  INFO(a.shape() << " to " << b.shape());
  const SavedJob job(reference);
  CHECK(largest_difference(losses_over_checkpoint(job, a, b), reference.losses) <= 5e-6);
}

Plan with_zero(Plan plan, int zero_stage) {
  for (Stage& stage : plan.stages) stage.zero_stage = zero_stage;
  return plan;
}

}  // namespace

TEST_CASE("a checkpoint holds every value in logical shape, and any plan gets its own from it",
          "[np4]") {
  RandomShapes shapes(17);
  for (const char* run : {"untied", "tied"}) {
    const Reference reference(run);
    const SavedJob job(reference);
    for (int pair = 0; pair < 5; ++pair) {
      const Plan a = shapes.plan(static_cast<int>(shapes.pick(1, num_ranks)));
      check_round_trip(job, a, shapes.plan(static_cast<int>(shapes.pick(1, num_ranks))));
    }
  }
}

TEST_CASE("a published model goes on from a checkpoint under any other plan", "[np4]") {
  for (const char* folder : {"llama", "qwen2", "gpt2-hf", "bert", "vit", "t5", "mixtral",
                             "qwen2-moe", "vgg", "resnet"}) {
    INFO(folder);
    const Reference reference(folder);
    const SavedJob job(reference);
    RandomShapes shapes(
        29, DrawnBlocks::some,
        {job.model.num_layers(), 8, axes_of(job.model), reference.micro_batch_size});
    // Members of the first plan share key-value heads; of fewer heads than ranks each has one.
    const std::int64_t heads = job.model.axis_size(ShardAxis::heads);
    const int members =
        static_cast<int>(heads > 0 ? std::min<std::int64_t>(num_ranks, heads) : num_ranks);
    check_round_trip(job, reference.plan(1, 1, members, 4, "1f1b"),
                     reference.plan(2, 2, 1, 4, "1f1b"));
    check_round_trip(job, shapes.plan(num_ranks), shapes.plan(num_ranks));
    check_training(reference, reference.plan(1, 1, members, 4, "1f1b"),
                   with_zero(reference.plan(1, 4, 1, 4, "gpipe"), 3));
    check_training(reference, shapes.plan(num_ranks), shapes.plan(num_ranks));
  }
}

TEST_CASE("training goes on from a checkpoint, bitwise under the same plan", "[np4]") {
  const Reference tied("tied");
  const SavedJob job(tied);
  for (const Plan& plan :
       {tied.plan(2, 2, 1, 4, "1f1b"), with_zero(tied.plan(1, 2, 2, 4, "gpipe"), 3)}) {
    const std::vector<double> through = train_reference(MPI_COMM_WORLD, tied, plan, 8).losses;
    std::vector<double> over = losses_over_checkpoint(job, plan, plan);
    over.resize(through.size());
    CHECK(over == through);
  }
}

TEST_CASE("training goes on from a checkpoint under any other plan", "[np4]") {
  const Reference tied("tied");
  RandomShapes shapes(23);
  check_training(tied, tied.plan(4, 1, 1, 2, "1f1b"), with_zero(tied.plan(2, 2, 1, 4, "zb-h1"), 1));
  check_training(tied, with_zero(tied.plan(1, 2, 2, 4, "1f1b"), 2), tied.plan(1, 4, 1, 4, "gpipe"));
  const std::int64_t layers = SavedJob(tied).model.num_layers();
  const Plan uneven =
      shaped_plan({{{layers}, {2, 1, 1}, 1, {}, 3}}, tied.config.training.global_batch_size);
  check_training(tied, with_zero(tied.plan(1, 2, 1, 4, "1f1b"), 1), uneven);
  check_training(tied, shapes.plan(num_ranks), shapes.plan(num_ranks));
}

TEST_CASE("a job resumes from its newest sound checkpoint and leaves one curve", "[np4]") {
  const JobFolder folder("[checkpoint]\ninterval = 4\n");
  // Equal bits need equal plans, and `auto` may choose differently from run to run.
  train(MPI_COMM_WORLD,
        folder.options({"job.output=" + folder.path() + "/through", "parallelism.schedule=1f1b"}));
  const std::string plan = "parallelism.plan=" + (folder.run("through") / "plan.json").string();
  train(MPI_COMM_WORLD, folder.options({plan, "training.steps=6"}));
  const fs::path checkpoints = folder.run() / "checkpoints";
  MPI_Barrier(MPI_COMM_WORLD);
  if (world_rank() == 0) {
    CHECK(fs::exists(checkpoints / "step-4.h5"));
    const CheckpointHead head = read_checkpoint_head(checkpoints / "step-6.h5");
    std::fstream damaged(checkpoints / "step-6.h5",
                         std::ios::in | std::ios::out | std::ios::binary);
    damaged.seekp(head.datasets[1].block_offset(0) + 7);
    damaged.put('\x7f');
  }
  MPI_Barrier(MPI_COMM_WORLD);
  JobOptions options = folder.options({plan});
  options.resume = (checkpoints / "step-6.h5").string();
  CHECK_THAT(complaint_of([&] { train(MPI_COMM_WORLD, options); }),
             Catch::Contains("/parameters/"));
  options.resume = "latest";
  train(MPI_COMM_WORLD, options);
  if (world_rank() != 0) return;
  const std::vector<double> losses = read_series(folder.run() / "metrics.h5", "/steps/loss");
  CHECK(losses == read_series(folder.run("through") / "metrics.h5", "/steps/loss"));
  CHECK(read_series(folder.run() / "metrics.h5", "/evaluation/step") ==
        std::vector<double>{5, 10, 12});
  CHECK(fs::exists(checkpoints / "step-12.h5"));
  CHECK(fs::exists(checkpoints / "step-6.h5.damaged"));
}

TEST_CASE("a checkpoint of another job is refused with what differs", "[np4]") {
  const JobFolder folder("[checkpoint]\ninterval = 4\n");
  train(MPI_COMM_WORLD, folder.options({"training.steps=4"}));
  MPI_Barrier(MPI_COMM_WORLD);
  const std::string path = folder.run() / "checkpoints" / "step-4.h5";
  const auto complaint = [&](const std::string& setting) {
    JobOptions options = folder.options({setting, "job.output=" + folder.path() + "/other"});
    options.resume = path;
    return complaint_of([&] { train(MPI_COMM_WORLD, options); });
  };
  CHECK_THAT(complaint("model.hidden_size=64"),
             Catch::Contains("model.hidden_size = 64 (32 in the checkpoint)"));
  CHECK_THAT(complaint("optimizer.name=sgd"), Catch::Contains("optimizer.name"));
  CHECK_THAT(complaint("job.seed=5"), Catch::Contains("job.seed"));
  CHECK_THAT(complaint("data.train=" + folder.path() + "/job.toml"),
             Catch::Contains("other training data"));
  CHECK(!fs::exists(folder.path() + "/other"));
}
