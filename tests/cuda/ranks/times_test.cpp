// What a GPU's traces and times say of whole iterations.
#include <algorithm>

#include "cuda/backend.hpp"
#include "cuda/hardware.hpp"
#include "runtime/reference.hpp"
#include "support/catch.hpp"

using namespace pptrain;
using namespace pptrain::test;

namespace {

struct Traced {
  Trace trace;
  IterationResult result;
  double seconds = 0.0;  ///< until the device had done everything
};

/// The second iteration of a plan.
Traced traced_iteration(const Reference& reference, const Plan& plan, Gpus gpus) {
  const auto gpu = make_gpu_backend(gpu_of_rank(gpus));
  SessionOptions options = {.backend = gpu->backend()};
  const Model model = build_model(reference.config.model, reference.config.training, "test");
  Session session(MPI_COMM_WORLD, reference.config, model, plan,
                  RankMap::identity(plan.num_devices()), options);
  reference.fill(session);
  Traced traced;
  session.record(&traced.trace);
  session.train(0, reference.samples(0));
  const double start = MPI_Wtime();
  traced.result = session.train(1, reference.samples(1));
  traced.seconds = MPI_Wtime() - start;
  return traced;
}

void check(const Traced& traced) {
  double computed = 0.0, last_end = 0.0;
  for (const TraceEvent& event : traced.trace) {
    CAPTURE(to_string(event.instruction));
    CHECK(event.begin >= last_end - 1e-5);  // the two clocks
    CHECK(event.end >= event.begin);
    last_end = event.end;
    if (event.lane == Lane::compute) computed += event.end - event.begin;
  }
  CHECK(last_end <= traced.seconds + 1e-3);
  CHECK(computed > 0.0);
  const IterationResult& r = traced.result;
  CHECK(r.communication_seconds >= 0.0);
  CHECK(r.idle_seconds >= 0.0);
  CHECK(r.cpu_seconds == r.compute_seconds());
}

}  // namespace

TEST_CASE("a GPU's trace is in the order of the program, by its own clock", "[np1]") {
  const Reference reference("untied");
  const Traced traced = traced_iteration(reference, reference.plan(1, 1, 1, 2, "1f1b"), Gpus::own);
  check(traced);
  double computed = 0.0;
  for (const TraceEvent& event : traced.trace) {
    if (event.lane == Lane::compute) computed += event.end - event.begin;
  }
  CHECK(computed > 0.5 * traced.trace.back().end);  // by the GPU's clock, which others on the
                                                    // machine do not stop
}

TEST_CASE("a profiler is told instruction, stage, chunk and micro-batch", "[np1]") {
  const Reference reference("untied");
  take_ranges();
  traced_iteration(reference, reference.plan(1, 1, 1, 4, "1f1b"), Gpus::own);
  const std::vector<std::string> ranges = take_ranges();
  if (hardware() == Hardware::gpus) return;  // its profiler keeps them
  for (const char* name :
       {"F0.1, stage 0, chunk 0, micro-batch 1", "BW0.0, stage 0, chunk 0, micro-batch 0",
        "sum loss, stage 0", "optimizer step, stage 0"}) {
    CAPTURE(name);
    CHECK(std::count(ranges.begin(), ranges.end(), name) == 2);  // of two iterations
  }
}

TEST_CASE("GPUs of a pipeline trace tasks and waits in order", "[np2]") {
  const Reference reference("untied");
  check(traced_iteration(reference, reference.plan(2, 1, 1, 2, "1f1b"), Gpus::shared));
}
