#include "simulate/task_bytes.hpp"

#include "support/catch.hpp"

namespace pptrain {
namespace {

/// Tasks of chunk 0 of these micro-batches.
Program program_of(const std::vector<std::pair<Op, int>>& tasks) {
  Program program;
  for (const auto& [op, micro_batch] : tasks) {
    program.instructions.push_back({op, TaskPlace{ChunkId(0), MicroBatchId(micro_batch)}});
  }
  return program;
}

/// What the device holds while each task runs and behind it.
std::vector<std::pair<double, double>> held(const Program& program, const ChunkBytes& chunk) {
  TaskBytes bytes(program, [&chunk](ChunkId) -> const ChunkBytes& { return chunk; });
  std::vector<std::pair<double, double>> all;
  double sum = 0.0;
  for (std::size_t i = 0; i < program.instructions.size(); ++i) {
    const Op op = program.instructions[i].op;
    const double running = sum += bytes.start(i, op, chunk);
    all.emplace_back(running, sum -= bytes.end(op, chunk));
  }
  CHECK(sum == bytes.end_sums());
  return all;
}

using Held = std::vector<std::pair<double, double>>;

/// F takes 3 bytes while it runs, B 6, B and W in one 5, W alone 2; 10 are stored from F to B, and
/// 4 of them deferred to W.
ChunkBytes some_bytes() {
  ChunkBytes::Works works;
  works.forward = 3;
  works.backward_input = 6;
  works.backward = {5, 1};
  works.backward_weight = {2, 1};
  ChunkBytes bytes;
  bytes.stored = 10;
  bytes.deferred = 4;
  bytes.works.fill(works);
  return bytes;
}

TEST_CASE("activations are there from the start of F to the end of B, what W needs to that of W",
          "[simulate]") {
  CHECK(held(program_of({{Op::forward, 0}, {Op::forward, 1}, {Op::backward, 0}, {Op::backward, 1}}),
             some_bytes()) == Held{{13, 10}, {23, 20}, {25, 10}, {15, 0}});
  CHECK(held(program_of({{Op::forward, 0}, {Op::backward_input, 0}, {Op::backward_weight, 0}}),
             some_bytes()) == Held{{13, 10}, {16, 4}, {6, 0}});
}

TEST_CASE("gradients that are summed stay until the next W, the last ones until sums end",
          "[simulate]") {
  ChunkBytes bytes = some_bytes();
  bytes.summed = 7;
  CHECK(held(program_of({{Op::forward, 0}, {Op::backward, 0}, {Op::forward, 1}, {Op::backward, 1}}),
             bytes) == Held{{13, 10}, {15, 7}, {20, 17}, {22, 7}});
}

TEST_CASE("weights of the next task that reads them are there beside a W before it", "[simulate]") {
  ChunkBytes bytes = some_bytes();
  bytes.carried = 20;
  CHECK(held(program_of({{Op::forward, 0},
                         {Op::backward_input, 0},
                         {Op::backward_weight, 0},
                         {Op::forward, 1},
                         {Op::backward_input, 1},
                         {Op::backward_weight, 1}}),
             bytes) == Held{{13, 10}, {16, 4}, {26, 0}, {13, 10}, {16, 4}, {6, 0}});
}

TEST_CASE("of offloaded activations the last layer's leave behind F and come before B",
          "[simulate]") {
  ChunkBytes bytes;
  bytes.offloaded = 8;
  bytes.num_offloaded = 3;
  ChunkBytes::Works works;
  works.forward = 10;
  works.backward = {12, 0};
  works.offloaded_forward = {5, 9};
  works.offloaded_backward = {9, 6};
  bytes.works.fill(works);
  // Beside the second F what the first has left leaves, and at its end what the first B begins with
  // comes: 9 + 8. Beside that B's first layer what the second F has left leaves: 9 + 8.
  CHECK(held(program_of({{Op::forward, 0}, {Op::forward, 1}, {Op::backward, 0}, {Op::backward, 1}}),
             bytes) == Held{{10, 8}, {17, 16}, {17, 8}, {12, 0}});
  // What the B of the same micro-batch needs at once does not leave.
  CHECK(held(program_of({{Op::forward, 0}, {Op::backward, 0}}), bytes) == Held{{10, 8}, {12, 0}});
}

}  // namespace
}  // namespace pptrain
