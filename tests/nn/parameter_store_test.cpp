#include "nn/parameter_store.hpp"

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

}  // namespace
}  // namespace pptrain
