// A job whose samples are mixed from several files.
#include "io/checkpoint/checkpoint_folder.hpp"
#include "job_folder.hpp"
#include "support/catch.hpp"
#include "support/complaint.hpp"

using namespace pptrain;
using namespace pptrain::test;

TEST_CASE("a mix gives the same samples under any plan and behind a checkpoint", "[np2]") {
  const JobFolder folder("[checkpoint]\ninterval = 4\n");
  if (world_rank() == 0) {
    std::ofstream digits(folder.path() + "/digits.txt");
    for (int i = 0; i < 200; ++i) digits << i * i << " ";
  }
  MPI_Barrier(MPI_COMM_WORLD);
  const auto options = [&](const std::string& output, std::vector<std::string> more) {
    more.insert(more.end(), {"job.output=" + folder.path() + "/" + output, "data.train=",
                             "data.mix=[{path=\"text.txt\", weight=3}, {path=\"digits.txt\"}]"});
    return folder.options(more);
  };
  train(MPI_COMM_WORLD,
        options("pipeline", {"parallelism.pipeline=2", "parallelism.schedule=1f1b"}));
  train(MPI_COMM_WORLD, options("data", {"parallelism.data=2", "training.steps=5"}));
  JobOptions resumed = options("data", {"parallelism.data=2"});
  resumed.resume = "latest";
  train(MPI_COMM_WORLD, resumed);
  JobOptions other = resumed;
  other.overrides.back() = "data.mix=[{path=\"text.txt\", weight=2}, {path=\"digits.txt\"}]";
  CHECK_THAT(complaint_of([&] { train(MPI_COMM_WORLD, other); }),
             Catch::Contains("data.mix[0].weight = 2.0"));
  if (world_rank() != 0) return;
  const std::vector<double> losses =
      read_series(folder.run("pipeline") / "metrics.h5", "/steps/loss");
  const std::vector<double> others = read_series(folder.run("data") / "metrics.h5", "/steps/loss");
  REQUIRE(losses.size() == 12);
  REQUIRE(others.size() == 12);
  // Another plan adds the same numbers in another order.
  for (std::size_t i = 0; i < losses.size(); ++i)
    CHECK(losses[i] == Approx(others[i]).epsilon(1e-5));
}
