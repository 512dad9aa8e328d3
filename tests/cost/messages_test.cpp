// Messages and waits of a plan, counted by hand and in compiled programs.
#include "cost/messages.hpp"

#include <algorithm>

#include "cost/instances.hpp"
#include "schedule/schedule.hpp"
#include "support/catch.hpp"

namespace pptrain {
namespace {

/// Embedding, two blocks and output: activations of 100 bytes per sample, all-reduced as GPT-2's
/// are.
Profile small_transformer() {
  Profile profile;
  for (const char* name : {"embedding", "block.0", "block.1", "output"}) {
    profile.layers.push_back(layer(name, 1, 1, 1));
    profile.layers.back().output_bytes = 100;
  }
  profile.layers[3].output_bytes = 0;
  const double all_reduce_bytes[] = {50, 200, 200, 50};
  for (int l = 0; l < 4; ++l)
    profile.layers[l].tensor_parallel_allreduce_bytes = all_reduce_bytes[l];
  add_degree(profile, 2);
  return profile;
}

TEST_CASE("messages and waits of tensor-parallel stages", "[cost]") {
  Profile profile = small_transformer();
  Cluster cluster = nodes_of(1, 8);
  Plan plan = uniform_plan({{0, 2}, {2, 4}}, 2, 2, 8, 2, "1f1b");
  const Instance instance = {profile, cluster, 8};
  const auto counts = [&](int device) {
    const DeviceMessages of = device_messages(instance, plan)[device];
    return std::pair(of.messages, of.waits);
  };
  // Four micro-batches. Stage 0 has one all-reduce of the embedding and four of the block, each two
  // messages and two waits of a member of two; per micro-batch one message over the cut and one
  // wait for the one back; two and two for the gradients of two replicas; loss and norm, seven
  // messages and one wait each.
  CHECK(counts(0) == std::pair(4.0 * 10 + 4 + 2 + 14, 4.0 * 10 + 4 + 2 + 2));
  // Stage 1: four of the block, one before the logits' input gradient, two short ones of the loss
  // in one step each.
  CHECK(counts(7) == std::pair(4.0 * 12 + 4 + 2 + 14, 4.0 * 12 + 4 + 2 + 2));
  SECTION("recomputation repeats half of a layer's all-reduces") {
    plan.stages[0].recompute = Recompute::full;
    CHECK(counts(0) == std::pair(4.0 * 15 + 4 + 2 + 14, 4.0 * 15 + 4 + 2 + 2));
    profile.layers[0].repeated = false;
    CHECK(counts(0) == std::pair(4.0 * 14 + 4 + 2 + 14, 4.0 * 14 + 4 + 2 + 2));
  }
  SECTION("ZeRO stage 3 gathers before every F and B") {
    plan.stages[0].zero_stage = 3;
    CHECK(counts(0) == std::pair(4.0 * 10 + 4 + 2 + 8 + 14, 4.0 * 10 + 4 + 2 + 8 + 2));
  }
  SECTION("each costs the shared cores") {
    cluster.groups[0].cores = 2;
    cluster.groups[0].core_seconds = {0.01, 0.1};
    cluster.finish("made");
    double bytes = 0.0;
    for (const DeviceMessages& sent : device_messages(instance, plan)) bytes += sent.bytes;
    // 8 samples of 12 s; links of 1000 B/s. Their latency of 0.5 s says nothing here.
    const double messages = 4 * 60 + 4 * 68;
    const double waits = 4 * 48 + 4 * 56;
    CHECK(node_work_seconds(instance, plan)[0] ==
          Approx(96.0 + bytes / 1000 + 0.01 * messages + 0.1 * waits));
    CHECK(core_limit_seconds(instance, plan) == Approx(node_work_seconds(instance, plan)[0] / 2));
  }
}

TEST_CASE("cuts have as many messages and waits as the compiled programs", "[cost]") {
  Profile profile;
  for (const char* name : {"a", "b", "c"}) profile.layers.push_back(layer(name, 1, 1, 1));
  const Cluster cluster = nodes_of(1, 6);
  // Stages of three, two and one replicas, six samples a micro-batch.
  Plan plan = uniform_plan({{0, 1}, {1, 2}, {2, 3}}, 1, 1, 24, 6, "1f1b");
  int next = 0;
  for (int s = 0; s < 3; ++s) {
    Stage& stage = plan.stages[s];
    stage.replicas = 3 - s;
    stage.devices.clear();
    for (int j = 0; j < stage.replicas; ++j) stage.devices.push_back({DeviceId(next++)});
    stage.samples = even_division(6, stage.replicas);
  }
  validate_plan(plan, 3, 6, "made");
  const std::vector<DeviceMessages> counted = device_messages({profile, cluster, 24}, plan);
  for (const Program& program : compile_training(plan, task_orders(plan), {})) {
    const auto count = [&](Op op) {
      return static_cast<double>(
          std::count_if(program.instructions.begin(), program.instructions.end(),
                        [op](const Instruction& instruction) { return instruction.op == op; }));
    };
    const double replicas = plan.stages[program.stage.index()].replicas;
    const DeviceMessages& of = counted[program.device.index()];
    // Beside gradients (nothing for one replica), loss and norm.
    CHECK(of.messages == count(Op::send) + 2 * (replicas - 1) + 2 * 5);
    CHECK(of.waits == count(Op::wait_receive) + (replicas > 1 ? 2 : 0) + 2);
  }
}

}  // namespace
}  // namespace pptrain
