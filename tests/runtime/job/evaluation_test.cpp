// Evaluations: each held-back target counts once, however batches and ranks divide them.
#include "runtime/job/evaluation.hpp"

#include <array>
#include <fstream>
#include <memory>

#include "config/read.hpp"
#include "data/token_dataset.hpp"
#include "runtime/job_folder.hpp"
#include "runtime/reference.hpp"
#include "runtime/small_gpt2.hpp"
#include "runtime/written_networks.hpp"
#include "support/catch.hpp"

using namespace pptrain;
using namespace pptrain::test;

namespace {

/// The samples of `source` with number `first` in front of the others.
SampleSource turned(const SampleSource& source, std::int64_t first, std::int64_t batch) {
  return
      [=](std::int64_t sample, const SampleSlot& slot) { source((first + sample) % batch, slot); };
}

/// The loss of a batch is made up of those of its first samples and of the others, whatever fills
/// up a batch of these.
void check_parts(Session& session, const SampleSource& samples) {
  const std::int64_t batch = session.config().training.global_batch_size;
  const auto sum_of = [](const IterationResult& result) {
    return static_cast<double>(result.targets) * result.loss;
  };
  const IterationResult whole = session.evaluate_batch(samples);
  CHECK(whole.loss > 0.0);
  CHECK(session.evaluate_batch(samples, batch).loss == whole.loss);
  for (const std::int64_t first : {std::int64_t{1}, batch / 2, batch - 1}) {
    const IterationResult front = session.evaluate_batch(samples, first);
    const IterationResult rest =
        session.evaluate_batch(turned(samples, first, batch), batch - first);
    CHECK(front.targets + rest.targets == whole.targets);
    CHECK(front.targets > 0);
    CHECK(sum_of(front) + sum_of(rest) == Approx(sum_of(whole)).epsilon(2e-6));
  }
}

void check_parts(const Reference& reference, const Model& model, const Plan& plan) {
  Session session(MPI_COMM_WORLD, reference.config, model, plan, RankMap::identity(world_size()));
  reference.fill(session);
  session.train(0, reference.samples(0));
  check_parts(session, reference.samples(1));
}

/// Held-back windows of five different tokens and their losses by a job with batches of some size
/// on some grid.
struct Grid {
  int batch, micro_batch, pipeline, data, tensor;
};

double evaluated(const TokenDataset& held_back, const Grid& grid, std::int64_t limit = 0) {
  Config config = small_gpt2(32, grid.batch);
  config.metrics.evaluation_batches = limit;
  const Model model = build_model(config.model, config.training, "test");
  const Plan plan =
      uniform_plan(even_division(model.num_layers(), grid.pipeline), grid.data, grid.tensor,
                   grid.batch, grid.micro_batch, ScheduleChoice{"1f1b", 1, 0});
  Session session(MPI_COMM_WORLD, config, model, plan, RankMap::identity(world_size()));
  if (session.device() != nullptr) {
    for (const auto& part : session.device()->parts()) fill_random(part->parameters(), 5);
  }
  const Evaluation evaluation = evaluate(session, held_back);
  CHECK(evaluation.is_whole);
  CHECK(evaluation.part == (limit == 0 ? "" : "1 of 3 batches"));
  return evaluation.loss;
}

}  // namespace

TEST_CASE("samples that fill a batch up do not count", "[np2]") {
  for (const char* name : {"llama", "mixtral", "bert", "t5", "vit", "resnet"}) {
    INFO(name);
    const Reference reference(name);
    const Model model = build_model(reference.config.model, reference.config.training, "test");
    for (const auto& [pipeline, data] : {std::pair{2, 1}, std::pair{1, 2}, std::pair{1, 1}})
      check_parts(reference, model, reference.plan(pipeline, data, 2 / pipeline / data, 4, "1f1b"));
  }
  const Drawn draws(parse_config(drawing, "drawing.toml", "").model);
  check_parts(draws.reference, draws.model, draws.reference.plan(1, 2, 1, 4, "1f1b"));
}

TEST_CASE("the held-back loss is the same by every size of batches and on every grid", "[np4]") {
  const JobFolder folder;
  const std::string path = folder.path() + "/held-back.bin";
  if (world_rank() == 0) {
    std::vector<std::int32_t> header(256, 0);
    std::vector<std::uint16_t> tokens(81);
    header[0] = 20240520, header[1] = 1, header[2] = 81;
    for (std::size_t i = 0; i < tokens.size(); ++i)
      tokens[i] = static_cast<std::uint16_t>(i * i % 31);
    std::ofstream file(path, std::ios::binary);
    file.write(reinterpret_cast<const char*>(header.data()), 1024);
    file.write(reinterpret_cast<const char*>(tokens.data()), 162);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  DatasetOptions options;
  options.sequence_length = small_gpt2(32, 1).training.sequence_length;
  options.vocabulary_size = small_gpt2(32, 1).model.vocabulary_size;
  const TokenDataset held_back({path}, options);
  const double loss = evaluated(held_back, {1, 1, 4, 1, 1});
  const std::vector<Grid> grids = {{2, 1, 2, 1, 2}, {3, 3, 1, 2, 2}, {4, 2, 2, 2, 1},
                                   {5, 5, 1, 4, 1}, {8, 4, 1, 4, 1}, {32, 8, 2, 2, 1}};
  for (const Grid& grid : grids) {
    INFO("batches of " << grid.batch << ", pipeline " << grid.pipeline << ", data " << grid.data);
    CHECK(evaluated(held_back, grid) == Approx(loss).epsilon(2e-6));
  }
  CHECK(std::abs(evaluated(held_back, {2, 1, 2, 1, 2}, 1) - loss) > 1e-4);
}

TEST_CASE("held-back data of less than a batch are evaluated, and a limit is kept", "[np2]") {
  const JobFolder folder;
  if (world_rank() == 0)
    std::ofstream(folder.path() + "/few.txt")
        << "a line of forty-nine bytes, so three windows ok.\n";
  MPI_Barrier(MPI_COMM_WORLD);
  const auto evaluation = [&](const std::string& name, std::vector<std::string> more) {
    more.insert(more.end(),
                {"data.validation=" + folder.path() + "/few.txt", "training.steps=1",
                 "optimizer.learning_rate=1e-12", "job.output=" + folder.path() + "/" + name});
    train(MPI_COMM_WORLD, folder.options(more));
    if (world_rank() > 0) return 0.0;
    const std::vector<double> losses =
        read_series(folder.run(name) / "metrics.h5", "/evaluation/loss");
    REQUIRE(losses.size() == 1);
    return losses.front();
  };
  const double by_eight = evaluation("eight", {}),
               one_by_one = evaluation("one", {"training.global_batch_size=1"});
  CHECK(by_eight == Approx(one_by_one).epsilon(2e-6));
  const double first =
      evaluation("first", {"training.global_batch_size=1", "metrics.evaluation_batches=1"});
  if (world_rank() == 0) CHECK(std::abs(first - one_by_one) > 1e-5);
}
