#include "nn/parameters/parameter_store.hpp"

#include "base/random.hpp"
#include "kernels/backend.hpp"
#include "support/catch.hpp"

namespace pptrain {
namespace {

TEST_CASE("a matrix that several threads draw has the numbers of one", "[parameters]") {
  ParameterSpec spec;
  spec.name = "wide";
  spec.shape = {700, 1001};  // no multiple of what a thread draws at a time
  spec.deviation = 0.5;
  Arena arena;
  ParameterStore store;
  store.start_unit(ChunkId(0));
  const std::size_t index = store.add(spec, {0, spec.size()}, spec.size());
  store.allocate(arena, host_kernels(), DType::f32);
  fill_random(store, 3);
  std::vector<float> expected(static_cast<std::size_t>(spec.size()));
  CounterRandom(3, spec.name).fill_normal(0, expected.size(), expected.data());
  for (float& value : expected) value *= 0.5F;
  const float* drawn = store.weight(index);
  CHECK(std::equal(expected.begin(), expected.end(), drawn));
}

/// Elements that a replica updates of a matrix of 100 cache lines, where replicas divide the
/// optimizer state.
std::int64_t own_elements(const ReplicaSharding& sharding) {
  ParameterSpec spec;
  spec.name = "matrix";
  spec.shape = {40, 40};
  Arena arena;
  ParameterStore store;
  store.start_unit(ChunkId(0));
  store.add(spec, {0, spec.size()}, spec.size());
  store.allocate(arena, host_kernels(), DType::f32, sharding);
  std::int64_t sum = 0;
  for (const OwnPart& part : store.own_parts()) sum += static_cast<std::int64_t>(part.size);
  return sum;
}

TEST_CASE("a replica updates its slice of what is divided", "[parameters]") {
  CHECK(own_elements({}) == 1600);
  CHECK(own_elements({1, 0, 4, {}}) == 400);
  const std::vector<Interval> slices = {{0, 7}, {7, 8}, {8, 9}, {9, 10}};
  CHECK(own_elements({1, 0, 4, slices}) == 1120);
  CHECK(own_elements({1, 2, 4, slices}) == 160);
  CHECK(own_elements({0, 2, 4, slices}) == 1600);
}

}  // namespace
}  // namespace pptrain
