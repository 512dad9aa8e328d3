// The whole job as `pptrain train` runs it: a configuration file in, a run directory out.
#include <cmath>

#include "base/error.hpp"
#include "config/read.hpp"
#include "plan/plan.hpp"
#include "runtime/job_folder.hpp"
#include "support/catch.hpp"
#include "support/files.hpp"

using namespace pptrain;
using namespace pptrain::test;

namespace {

/// 48 points of 12 classes, each class near a point of its own.
void write_features(const std::string& path) {
  std::vector<float> features;
  std::vector<int> labels;
  for (int i = 0; i < 48; ++i) {
    labels.push_back(i % 12);
    for (const int value : {i % 12 % 2, i % 12 / 2 % 3, i % 12 / 6}) {
      features.push_back(2.0F * static_cast<float>(value) + 0.02F * static_cast<float>(i / 12));
    }
  }
  const hid_t file = H5Fcreate(path.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
  const auto write = [file](const char* name, hid_t stored, hid_t given, std::vector<hsize_t> shape,
                            const void* values) {
    const hid_t space = H5Screate_simple(static_cast<int>(shape.size()), shape.data(), nullptr);
    const hid_t dataset =
        H5Dcreate2(file, name, stored, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    CHECK(H5Dwrite(dataset, given, H5S_ALL, H5S_ALL, H5P_DEFAULT, values) >= 0);
    H5Dclose(dataset);
    H5Sclose(space);
  };
  write("features", H5T_IEEE_F32LE, H5T_NATIVE_FLOAT, {48, 3}, features.data());
  write("labels", H5T_STD_I32LE, H5T_NATIVE_INT, {48}, labels.data());
  H5Fclose(file);
}

ExitCode code_of(const JobOptions& options) {
  try {
    train(MPI_COMM_WORLD, options);
  } catch (const Error& error) {
    return error.code();
  }
  return ExitCode::success;
}

}  // namespace

TEST_CASE("a job leaves all that is needed to repeat it, and repeating it gives the same losses",
          "[np4]") {
  const JobFolder folder;
  train(MPI_COMM_WORLD, folder.options());
  const std::string plan = folder.run() / "plan.json";
  train(MPI_COMM_WORLD,
        folder.options({"parallelism.plan=" + plan, "job.output=" + folder.path() + "/again"}));
  if (world_rank() != 0) return;
  for (const char* name : {"config.toml", "plan.json", "profile.json", "cluster.toml",
                           "placement.json", "metrics.h5", "log.txt"}) {
    CHECK(fs::file_size(folder.run() / name) > 0);
  }
  const std::vector<double> losses = read_series(folder.run() / "metrics.h5", "/steps/loss");
  REQUIRE(losses.size() == 12);
  CHECK(losses.front() == Approx(std::log(256.0)).epsilon(0.02));  // random bytes
  CHECK(losses.back() < losses.front() - 1.0);
  CHECK(read_series(folder.run("again") / "metrics.h5", "/steps/loss") == losses);
  CHECK(read_series(folder.run() / "metrics.h5", "/evaluation/step") ==
        std::vector<double>{5, 10, 12});
  CHECK(read_series(folder.run() / "metrics.h5", "/ranks/compute_seconds").size() == 12 * 4);
  const Plan read = read_plan(plan);
  REQUIRE(read.predicted);
  CHECK(read.predicted->iteration_seconds >= read.predicted->lower_bound_seconds);
  const Config config = read_config(folder.run() / "config.toml");
  CHECK(config.training.steps == 12);
}

TEST_CASE("a classifier job reads features from a file and divides the layers as annotated",
          "[np4]") {
  const JobFolder folder;
  JobOptions options;
  options.config_path = folder.path() + "/classifier.toml";
  if (world_rank() == 0) {
    write_features(folder.path() + "/points.h5");
    std::ofstream(options.config_path)
        << "[job]\nname = \"job\"\noutput = \"" << folder.path() << "/runs\"\n"
        << "[model]\nname = \"mlp-classifier\"\nlayers = 2\ninput_size = 3\nhidden_size = "
           "16\nclasses = 12\n"
        << "[[model.annotate]]\nlayers = [0, 2]\nprimitive = \"replicate\"\ndevices = 4\n"
        << "[[model.annotate]]\nlayers = [2, 3]\nprimitive = \"split\"\ndevices = 4\n"
        << "[data]\ntrain = \"points.h5\"\nvalidation = \"points.h5\"\n[training]\nsteps = "
           "20\nglobal_batch_size = 12\n"
        << "[optimizer]\nlearning_rate = 1e-2\n[profile]\ncache = false\n";
  }
  MPI_Barrier(MPI_COMM_WORLD);
  train(MPI_COMM_WORLD, options);
  if (world_rank() != 0) return;
  const Plan plan = read_plan(folder.run() / "plan.json");
  REQUIRE(plan.stages.size() == 1);
  REQUIRE(plan.stages[0].blocks.size() == 1);
  CHECK(plan.stages[0].blocks[0].layers == Interval{2, 3});
  CHECK(plan.stages[0].blocks[0].tensor_parallel == 4);
  const std::vector<double> losses = read_series(folder.run() / "metrics.h5", "/steps/loss");
  CHECK(losses.back() < 0.7 * losses.front());
}

TEST_CASE("evaluations of masked text count every label once, however batches divide them",
          "[np2]") {
  const JobFolder folder;
  const std::string model = test_data("models/bert");
  const auto evaluation = [&](const std::string& name, int batch) {
    JobOptions options;
    options.config_path = folder.path() + "/" + name + ".toml";
    if (world_rank() == 0) {
      std::ofstream(options.config_path)
          << "[job]\nname = \"job\"\noutput = \"" << folder.path() << "/" << name << "\"\n"
          << "[model]\nfrom = \"" << model << "\"\n[data]\ntrain = \"" << model
          << "/data.h5\"\nvalidation = \"" << model
          << "/data.h5\"\n[training]\nsteps = 1\nsequence_length = 32\nglobal_batch_size = "
          << batch << "\n[optimizer]\nlearning_rate = 1e-12\n[profile]\ncache = false\n";
    }
    MPI_Barrier(MPI_COMM_WORLD);
    train(MPI_COMM_WORLD, options);
    if (world_rank() != 0) return 0.0;
    const std::vector<double> losses =
        read_series(folder.run(name) / "metrics.h5", "/evaluation/loss");
    REQUIRE(losses.size() == 1);
    return losses.front();
  };
  const double by_eight = evaluation("eight", 8), together = evaluation("together", 64);
  CHECK(by_eight == Approx(together).margin(2e-6));
  if (world_rank() == 0) CHECK(by_eight == Approx(5.6).margin(0.5));
}

TEST_CASE("what the configuration fixes is what runs", "[np4]") {
  const JobFolder folder;
  train(MPI_COMM_WORLD, folder.options({"parallelism.pipeline=2", "parallelism.tensor=2",
                                        "parallelism.schedule=gpipe", "training.micro_batch_size=2",
                                        "training.steps=2", "parallelism.recompute=full"}));
  train(MPI_COMM_WORLD,
        folder.options({"parallelism.zero_stage=3", "parallelism.data=4", "training.steps=2",
                        "job.output=" + folder.path() + "/sharded"}));
  if (world_rank() != 0) return;
  CHECK(read_plan(folder.run("sharded") / "plan.json").stages[0].zero_stage == 3);
  const Plan plan = read_plan(folder.run() / "plan.json");
  CHECK(plan.num_stages() == 2);
  CHECK(plan.stages[0].tensor_parallel == 2);
  CHECK(plan.schedule.name == "gpipe");
  CHECK(plan.stages[1].recompute == Recompute::full);
  CHECK(plan.micro_batches == 4);
}

TEST_CASE("a schedule with chunks is planned and runs from the configuration", "[np4]") {
  const JobFolder folder;
  train(MPI_COMM_WORLD, folder.options({"parallelism.pipeline=2", "parallelism.schedule=zb-v",
                                        "training.steps=3"}));
  train(MPI_COMM_WORLD,
        folder.options({"parallelism.pipeline=2", "parallelism.schedule=1f1b", "training.steps=3",
                        "job.output=" + folder.path() + "/again"}));
  if (world_rank() != 0) return;
  const Plan plan = read_plan(folder.run() / "plan.json");
  CHECK(plan.schedule.name == "zb-v");
  CHECK(plan.stages[0].layers == std::vector<Interval>{{0, 1}, {3, 4}});
  const std::vector<double> losses = read_series(folder.run() / "metrics.h5", "/steps/loss");
  const std::vector<double> others = read_series(folder.run("again") / "metrics.h5", "/steps/loss");
  for (std::size_t i = 0; i < losses.size(); ++i)
    CHECK(losses[i] == Approx(others[i]).epsilon(1e-6));
}

TEST_CASE("annotated stages of different shape and the plans of other planners train alike",
          "[np4]") {
  const JobFolder folder(
      "[[model.annotate]]\nlayers = [0, 3]\nprimitive = \"replicate\"\ndevices = 2\n"
      "[[model.annotate]]\nlayers = [3, 4]\nprimitive = \"split\"\ndevices = 2\n");
  train(MPI_COMM_WORLD, folder.options({"training.steps=3"}));
  const JobFolder free;
  const std::vector<std::string> planners = {"amp", "dapple", "whale", "alpa", "exhaustive"};
  for (const std::string& name : planners) {
    train(MPI_COMM_WORLD,
          free.options({"planner.name=" + name, "training.micro_batch_size=4", "training.steps=3",
                        "job.output=" + free.path() + "/" + name}));
  }
  if (world_rank() != 0) return;
  const Plan plan = read_plan(folder.run() / "plan.json");
  REQUIRE(plan.num_stages() == 2);
  CHECK(plan.stages[0].replicas == 2);
  CHECK(plan.stages[0].tensor_parallel == 1);
  CHECK(plan.stages[1].tensor_parallel == 2);
  const std::vector<double> losses = read_series(folder.run() / "metrics.h5", "/steps/loss");
  for (const std::string& name : planners) {
    CHECK(read_plan(free.run(name) / "plan.json").planner == name);
    const std::vector<double> others = read_series(free.run(name) / "metrics.h5", "/steps/loss");
    for (std::size_t i = 0; i < losses.size(); ++i)
      CHECK(others[i] == Approx(losses[i]).epsilon(1e-6));
  }
}

TEST_CASE("a dry run and bad input write nothing", "[np2]") {
  const JobFolder folder;
  JobOptions dry = folder.options();
  dry.dry_run = true;
  train(MPI_COMM_WORLD, dry);
  CHECK(code_of(folder.options({"data.train=missing.txt"})) == ExitCode::bad_input);
  CHECK(code_of(folder.options({"parallelism.data=3"})) == ExitCode::bad_input);
  CHECK(code_of(folder.options({"model.vocabulary_size=64"})) == ExitCode::bad_input);
  CHECK_FALSE(fs::exists(folder.path() + "/runs"));
}

TEST_CASE("bf16 follows fp32 closely, and ZeRO changes nothing", "[np2]") {
  const JobFolder folder;
  // Equal bits need equal micro-batches, which `auto` may choose differently from run to run.
  const std::vector<std::string> bf16_grid = {"optimizer.learning_rate=2e-3",
                                              "training.precision=bf16",
                                              "training.micro_batch_size=8", "parallelism.data=2"};
  std::vector<std::string> sharded_grid = bf16_grid;
  sharded_grid.insert(sharded_grid.end(),
                      {"parallelism.zero_stage=1", "job.output=" + folder.path() + "/sharded"});
  train(MPI_COMM_WORLD, folder.options(sharded_grid));
  train(MPI_COMM_WORLD, folder.options(bf16_grid));
  train(MPI_COMM_WORLD,
        folder.options({"optimizer.learning_rate=2e-3", "job.output=" + folder.path() + "/again"}));
  if (world_rank() != 0) return;
  const std::vector<double> bf16 = read_series(folder.run() / "metrics.h5", "/steps/loss");
  const std::vector<double> fp32 = read_series(folder.run("again") / "metrics.h5", "/steps/loss");
  CHECK(read_series(folder.run("sharded") / "metrics.h5", "/steps/loss") == bf16);
  // bf16 keeps 8 bits: a relative error of 2^-9 per rounding, a little more in the loss.
  for (std::size_t i = 0; i < fp32.size(); ++i) CHECK(bf16[i] == Approx(fp32[i]).epsilon(0.01));
  CHECK(bf16 != fp32);
}
