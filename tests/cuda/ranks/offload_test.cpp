// Optimizer state and activations in memory of the host: the same bits as without, in less memory
// of the GPU.
#include <memory>
#include <string>
#include <vector>

#include "comm/mpi.hpp"
#include "cuda/backend.hpp"
#include "cuda/hardware.hpp"
#include "runtime/reference.hpp"
#include "runtime/replan/redistribute.hpp"
#include "runtime/replan/training_state.hpp"
#include "support/catch.hpp"

using namespace pptrain;
using namespace pptrain::test;

namespace {

constexpr int steps = 2;

/// What is offloaded.
struct Offload {
  bool states;
  bool activations;
};
constexpr Offload nothing = {false, false};
constexpr Offload states = {true, false};
constexpr Offload activations = {false, true};
constexpr Offload both = {true, true};

struct Gpu {
  Gpu() : parts(make_gpu_backend(gpu_of_rank(Gpus::own))) {}
  SessionOptions options() const {
    SessionOptions options = {.backend = parts->backend()};
    options.direct = parts->direct();
    return options;
  }

  std::unique_ptr<GpuBackend> parts;
};

Plan with(Plan plan, Offload offload, int zero_stage = 0, Recompute recompute = Recompute::none) {
  for (Stage& stage : plan.stages) {
    stage.offload = offload.states;
    stage.offload_activations = offload.activations;
    stage.zero_stage = zero_stage;
    stage.recompute = recompute;
  }
  return plan;
}

std::unique_ptr<Session> session_of(const Reference& reference, const Plan& plan,
                                    const SessionOptions& options) {
  const Model model = build_model(reference.config.model, reference.config.training, "test");
  return std::make_unique<Session>(MPI_COMM_WORLD, reference.config, model, plan,
                                   RankMap::identity(size_of(MPI_COMM_WORLD)), options);
}

/// The whole state that this rank holds after some steps, loss by loss and element by element, and
/// what it took.
struct Trained {
  std::vector<double> losses;
  std::vector<float> values;
  std::size_t peak_bytes = 0;
};

Trained train(const Reference& reference, const Plan& plan, const SessionOptions& options) {
  const Model model = build_model(reference.config.model, reference.config.training, "test");
  const auto session = session_of(reference, plan, options);
  session->arena().poison(true);
  reference.fill(*session);
  Trained trained;
  for (int step = 0; step < steps; ++step) {
    trained.losses.push_back(session->train(step, reference.samples(step)).loss);
  }
  trained.losses.push_back(session->evaluate(reference.samples(steps)));
  for (const StatePart& part : held_state(model, *session)) {
    std::vector<float> values(static_cast<std::size_t>(part.size()));
    part.device->download(values.data(), part.values, values.size() * sizeof(float));
    trained.values.insert(trained.values.end(), values.begin(), values.end());
  }
  trained.peak_bytes = session->arena().peak_bytes();
  return trained;
}

std::string text_of(const Plan& plan) {
  return plan.shape() + " " + plan.schedule.name + " zero " +
         std::to_string(plan.stages.front().zero_stage) + " " +
         to_string(plan.stages.front().recompute);
}

/// Offloading changes no bit of what this plan gives.
void check_same(const Reference& reference, const Plan& plan, const Gpu& gpu,
                const std::vector<Offload>& offloads) {
  const int zero_stage = plan.stages.front().zero_stage;
  const Recompute recompute = plan.stages.front().recompute;
  const Trained expected = train(reference, plan, gpu.options());
  for (const Offload& offload : offloads) {
    const Plan offloaded = with(plan, offload, zero_stage, recompute);
    INFO(text_of(offloaded) << ", states " << offload.states << ", activations "
                            << offload.activations);
    const Trained trained = train(reference, offloaded, gpu.options());
    CHECK(trained.losses == expected.losses);
    CHECK(trained.values == expected.values);
  }
}

}  // namespace

TEST_CASE("offloading changes no bit of an optimizer that keeps one value or none", "[np1]") {
  const Gpu gpu;
  for (const char* run : {"sgd", "lion"}) {
    INFO(run);
    const Reference reference("llama", run);
    check_same(reference, reference.plan(1, 1, 1, 4, "1f1b"), gpu, {states});
  }
  const Reference plain("untied_sgd");
  check_same(plain, plain.plan(1, 1, 1, 4, "1f1b"), gpu, {states});
}

TEST_CASE("offloading changes no bit of one rank's training", "[np1]") {
  const Gpu gpu;
  const Reference untied("untied");
  check_same(untied, untied.plan(1, 1, 1, 2, "gpipe"), gpu, {states, activations, both});
  check_same(untied, with(untied.plan(1, 1, 1, 4, "1f1b"), nothing, 0, Recompute::full), gpu,
             {both});
  const Reference tied("tied");
  check_same(tied, with(tied.plan(1, 1, 1, 4, "1f1b"), nothing, 0, Recompute::selective), gpu,
             {both});
}

TEST_CASE("offloading changes no bit of four ranks' training", "[np4][own]") {
  const Gpu gpu;
  const Reference tied("tied");
  check_same(tied, with(tied.plan(2, 2, 1, 2, "1f1b"), nothing, 1), gpu,
             {states, activations, both});
  check_same(tied, tied.plan(2, 1, 2, 1, "zb-h1"), gpu, {both});
  check_same(tied, with(tied.plan(2, 2, 1, 2, "interleaved-1f1b", 2), nothing, 3, Recompute::full),
             gpu, {both});
}

TEST_CASE("what is offloaded takes no memory of the GPU", "[np1]") {
  const Gpu gpu;
  const Reference reference("untied");
  const Plan plan = reference.plan(1, 1, 1, 1, "gpipe");
  const Trained here = train(reference, with(plan, nothing), gpu.options());
  const Trained away = train(reference, with(plan, both), gpu.options());
  SessionOptions capped = gpu.options();
  capped.memory_bytes = away.peak_bytes;
  CHECK(train(reference, with(plan, both), capped).losses == here.losses);
  CHECK_THROWS_WITH(train(reference, with(plan, nothing), capped),
                    Catch::Contains("out of device memory"));
}

TEST_CASE("offloaded state goes to other plans and comes from them", "[np4][own]") {
  const Gpu gpu;
  const Reference reference("tied");
  const Model model = build_model(reference.config.model, reference.config.training, "test");
  const Plan first = reference.plan(1, 2, 2, 2, "1f1b");
  const Plan second = reference.plan(4, 1, 1, 1, "1f1b");
  Waiter waiter(600.0, CoreUse::shared);
  std::vector<double> losses;
  for (const Offload& offload : {nothing, both}) {
    const auto trained = session_of(reference, with(first, offload, 2), gpu.options());
    reference.fill(*trained);
    for (int step = 0; step < steps; ++step) trained->train(step, reference.samples(step));
    for (const Offload& later : {nothing, both}) {
      const auto moved = session_of(reference, with(second, later), gpu.options());
      redistribute(MPI_COMM_WORLD, waiter, model, {0, 0, 1, 1}, *trained, *moved);
      losses.push_back(moved->train(steps, reference.samples(steps)).loss);
      CHECK(losses.back() == losses.front());
    }
  }
}
