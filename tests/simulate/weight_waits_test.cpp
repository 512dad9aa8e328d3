#include "simulate/weight_waits.hpp"

#include "support/catch.hpp"

namespace pptrain {
namespace {

Instruction task(Op op, int chunk = 0) { return {op, TaskPlace{ChunkId(chunk)}}; }

/// Two layers whose passes take 4 s: 1.5 s for the first one's weights, 1 s for the last layer.
ChunkPrice gathered_chunk(int num_layers = 2) {
  ChunkPrice chunk;
  for (TaskPrice& price : chunk.tasks) {
    price.seconds = 4.0;
    price.first_gather = 1.5;
    price.last_layer = 1.0;
  }
  chunk.num_layers = num_layers;
  chunk.gathers_layers = true;
  return chunk;
}

TEST_CASE("the first task waits for a gather, the next one for what its last layer does not hide",
          "[simulate]") {
  const ChunkPrice chunk = gathered_chunk();
  WeightWaits waits;
  CHECK(waits.before(0.0, task(Op::forward), chunk) == 1.5);
  // F until 5.5. The first layer's weights come again from 4.5 on.
  CHECK(waits.before(5.5, task(Op::forward), chunk) == 0.5);
  CHECK(waits.before(12.0, task(Op::forward), chunk) == 0.0);  // they came from 9 to 10.5
}

TEST_CASE("a pass back begins with the layer that is there, and W reads no weights", "[simulate]") {
  const ChunkPrice chunk = gathered_chunk();
  WeightWaits waits;
  waits.before(0.0, task(Op::forward), chunk);
  CHECK(waits.before(5.5, task(Op::backward_input), chunk) == 0.0);
  CHECK(waits.before(9.5, task(Op::backward_weight), chunk) == 0.0);
  CHECK(waits.before(9.5, task(Op::backward), chunk) == 0.5);  // gathered from 8.5 on
  CHECK(waits.before(14.0, task(Op::forward), chunk) == 0.0);
  WeightWaits of_one_layer;
  of_one_layer.before(0.0, task(Op::forward), gathered_chunk(1));
  CHECK(of_one_layer.before(5.5, task(Op::forward), gathered_chunk(1)) == 0.0);
}

TEST_CASE("weights of the step before hold up the first F of each chunk alone", "[simulate]") {
  ChunkPrice chunk = gathered_chunk();
  chunk.gathers_layers = false;
  WeightWaits none;
  CHECK(none.before(0.0, task(Op::forward), chunk) == 0.0);
  chunk.published_end = 6.0;  // an F of 4 s that starts at 1 could end at 5
  WeightWaits waits;
  CHECK(waits.before(1.0, task(Op::forward), chunk) == 1.0);
  CHECK(waits.before(1.0, task(Op::forward), chunk) == 0.0);
  CHECK(waits.before(1.0, task(Op::backward, 1), chunk) == 0.0);
  CHECK(waits.before(1.5, task(Op::forward, 1), chunk) == 0.5);
  CHECK(waits.before(7.0, task(Op::forward, 2), chunk) == 0.0);
}

}  // namespace
}  // namespace pptrain
