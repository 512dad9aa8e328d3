// Training whose calls run as CUDA graphs, against the same without graphs: not a bit may differ.
#include "cuda/backend.hpp"
#include "cuda/hardware.hpp"
#include "runtime/reference.hpp"
#include "support/catch.hpp"

using namespace pptrain;
using namespace pptrain::test;

namespace {

enum class Calls { single, graphs };

/// A GPU for this rank.
struct Gpu {
  std::unique_ptr<GpuBackend> parts;

  Gpu(Gpus gpus, Calls calls) : parts(make_gpu_backend(gpu_of_rank(gpus))) {
    if (calls == Calls::graphs) parts->use_graphs();
  }
  SessionOptions options() const {
    SessionOptions options = {.backend = parts->backend()};
    options.direct = parts->direct();
    return options;
  }
};

void check_equal(const Curve& a, const Curve& b) {
  CHECK(a.losses == b.losses);
  CHECK(a.grad_norms == b.grad_norms);
}

/// What became of this rank's calls.
GraphCounts check_plan(const Reference& reference, const Plan& plan, Gpus gpus, int steps = 3) {
  INFO(plan.shape());
  const Gpu single(gpus, Calls::single), graphs(gpus, Calls::graphs);
  const Curve expected = train_reference(MPI_COMM_WORLD, reference, plan, steps, single.options());
  check_equal(train_reference(MPI_COMM_WORLD, reference, plan, steps, graphs.options()), expected);
  CHECK(single.parts->graph_counts().calls == 0);
  return graphs.parts->graph_counts();
}

}  // namespace

TEST_CASE("graphs change no bit of a training on one rank", "[np1]") {
  for (const char* run : {"tied", "untied_sgd"}) {
    const Reference reference(run);
    const GraphCounts counts = check_plan(reference, reference.plan(1, 1, 1, 1, "1f1b"), Gpus::own);
    CAPTURE(run, counts.calls, counts.calls_in_graphs, counts.launches, counts.graphs);
    CHECK(2 * counts.calls_in_graphs > counts.calls);
    CHECK(10 * counts.launches < counts.calls_in_graphs);  // most graphs hold many calls
    CHECK(counts.graphs <= 12);
  }
}

TEST_CASE("another plan, and an evaluation, are captured anew", "[np1]") {
  const Reference reference("untied");
  const Plan plans[] = {reference.plan(1, 1, 1, 1, "1f1b"), reference.plan(1, 1, 1, 4, "gpipe")};
  const Gpu single(Gpus::own, Calls::single), graphs(Gpus::own, Calls::graphs);
  std::uint64_t launches = 0;
  for (const Plan& plan : plans) {
    const Model model = build_model(reference.config.model, reference.config.training, "test");
    Session expected(MPI_COMM_WORLD, reference.config, model, plan, RankMap::identity(1),
                     single.options());
    Session session(MPI_COMM_WORLD, reference.config, model, plan, RankMap::identity(1),
                    graphs.options());
    reference.fill(expected);
    reference.fill(session);
    for (int step = 0; step < 3; ++step) {
      CHECK(session.train(step, reference.samples(step)).loss ==
            expected.train(step, reference.samples(step)).loss);
      CHECK(session.evaluate(reference.samples(9)) == expected.evaluate(reference.samples(9)));
    }
    CHECK(graphs.parts->graph_counts().launches > launches);
    launches = graphs.parts->graph_counts().launches;
  }
}

TEST_CASE("graphs change no bit where groups communicate by NCCL", "[np4][own]") {
  const Reference reference("tied");
  for (const Plan& plan :
       {reference.plan(1, 4, 1, 4, "1f1b"), reference.plan(1, 2, 2, 2, "1f1b")}) {
    const GraphCounts counts = check_plan(reference, plan, Gpus::own);
    CAPTURE(counts.calls, counts.calls_in_graphs, counts.launches, counts.graphs);
    CHECK(counts.calls_in_graphs > 0);
  }
}

TEST_CASE("graphs change no bit of a pipeline whose ranks share a GPU", "[np4]") {
  const Reference reference("tied");
  for (const Plan& plan :
       {reference.plan(2, 2, 1, 2, "zb-h1"), reference.plan(4, 1, 1, 1, "1f1b")}) {
    const GraphCounts counts = check_plan(reference, plan, Gpus::shared);
    CAPTURE(counts.calls, counts.calls_in_graphs, counts.launches, counts.graphs);
    // When a message arrives decides in which order a rank gives out memory: on one of them no row
    // may come again.
    std::uint64_t of_all = 0;
    MPI_Allreduce(&counts.calls_in_graphs, &of_all, 1, MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD);
    CHECK(of_all > 0);
  }
}
